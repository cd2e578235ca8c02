"""Vectors for the rows of a graph: find the rows, make the vectors, write the rows with them.

Each step is a list of tasks. The vectors are kept in the graph's storage as they are made, by the
digests of their texts: whoever begins the work again after a death or a refusal goes on from there,
whatever has become of the rows meanwhile.
"""
