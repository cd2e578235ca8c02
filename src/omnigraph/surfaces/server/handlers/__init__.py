"""Handlers: each decodes its request, calls the graph, and shapes the answer. Nothing else."""
