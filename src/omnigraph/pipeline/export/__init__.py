"""Rows of a graph written to files, in parallel."""
