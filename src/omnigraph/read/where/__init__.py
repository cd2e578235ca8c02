"""Which rows meet the `where` of a mutation: by key, by what Lance filters, then row by row."""
