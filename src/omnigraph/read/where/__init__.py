"""Which rows meet a condition: by key, by what Lance filters, or row by row."""
