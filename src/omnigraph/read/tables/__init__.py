"""Columns and adjacency of a version, and the caches that hold them."""
