"""Rows of a graph as frames of Spark's: tasks read fragments of a pinned version."""
