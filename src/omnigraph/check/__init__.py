"""The rules for rows that are written: `rows/` looks at one row, `sets/` at many together.

Neither knows how rows arrive or where they go: a mutation, a load, and later a merge and a change
of the schema keep the same rules. A value that does not fit its type is a *misfit*, a row and the
rule it breaks are a *violation*, and a row that is not loaded because of one is a *rejected row*.
"""
