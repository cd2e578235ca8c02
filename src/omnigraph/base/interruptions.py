"""Ctrl-C, as DuckDB tells of it."""

__all__ = ["is_told_by_duckdb"]


def is_told_by_duckdb(error: BaseException | None) -> bool:
    """Whether the error, or what it was raised from, is what DuckDB makes of a Ctrl-C.

    Between two steps of a query that is a `RuntimeError`; where DuckDB reads our tables it is an
    error of its own, with the name of ours in its text.
    """
    while error is not None:
        if type(error) is RuntimeError and str(error) == "Query interrupted":
            return True
        if "duckdb" in type(error).__module__ and "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__
    return False
