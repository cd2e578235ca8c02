"""The text of a schema and its tree: grammar, parser, printer."""
