"""From what someone wants to change to a commit, whole or not at all.

    prepare ─► fence ─► stage ─► arm ─► land ─► publish ─► disarm        crash ─► recover

`writer.write` is the whole way on one screen. Only publishing is visible to readers; everything
before it can be lost without a trace, and from arming on `recover` finishes or undoes it.
"""
