"""A parsed query against a schema: names, types, and what may stand where."""
