"""The text of a query and its tree: grammar, parser, printer."""
