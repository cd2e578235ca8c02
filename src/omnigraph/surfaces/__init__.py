"""Doors to the engine. Each one parses a request, calls `Graph`, and shapes the answer."""
