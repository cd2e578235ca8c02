"""The JSON of every command, as types: what `wire` builds.

`docs/reference/json` publishes it as JSON Schema.

A member that is here stays here under its name; new ones may come. Only type checkers and the
published schemas need this room: no command imports it.
"""
