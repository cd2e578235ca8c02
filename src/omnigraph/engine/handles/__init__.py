"""The handles that callers hold: a moment, a branch, the graph. They build requests."""
