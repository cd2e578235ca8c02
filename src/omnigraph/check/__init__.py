"""What may be written: `rows/` looks at one row at a time, `sets/` at rows beside each other.

Both know nothing of how rows arrive or where they go: a mutation, a load, and later a merge and a
change of the schema ask the same rules.
"""
