"""Adjacency as arrays, made from edge tables and kept by their identity."""
