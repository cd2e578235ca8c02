"""One use case per file, `f(engine, request)`: authorise ─► compile ─► snapshot ─► run or write.

`engine` is the wiring, `requests` are the values that every door builds, `handles` (a moment, a
branch, the graph) are what callers hold. Only `gate` decides who may do a thing.
"""
