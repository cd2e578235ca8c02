"""Bytes and history: what exists, and what of it a reader can see.

A graph is many Lance datasets and one manifest. A dataset version that the manifest does not name
does not exist for a reader, however complete its files are.
"""
