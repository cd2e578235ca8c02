"""A parsed schema becomes a catalog, or a list of what is wrong with it."""
