"""From texts to vectors of length one: providers, their faults, and the cache of query texts.

`providers.open_provider` is the door. Nothing here knows of a graph.
"""
