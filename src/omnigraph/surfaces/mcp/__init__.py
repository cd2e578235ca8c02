"""A graph as tools of an agent, by the Model Context Protocol.

    call ─► which tool ─► arguments checked ─► handler (in a thread) ─► answer of a bounded size

Tools are data (`tools.py`): a name, schemas of arguments, and a plain function of a `Caller`, which
holds the graph as the agent may use it. Only `protocol.py`, `stdio.py` and `http.py` know the SDK
of the protocol. It takes a second to import, so nothing imports them before an agent calls.
"""
