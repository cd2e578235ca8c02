"""Words every room speaks: ids, errors, places in a text, scalar types, time, failpoints.

Nothing here imports another room, and nothing here imports Arrow, Lance or Spark: the languages
and the command line's help must load without them.
"""
