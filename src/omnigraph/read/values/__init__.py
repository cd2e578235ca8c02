"""Values in columns: comparing, ordering, summing and encoding them. Knows no snapshot."""
