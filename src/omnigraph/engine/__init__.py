"""One use case per file; each reads: compile ─► snapshot ─► run or write. `Graph` is the handle."""
