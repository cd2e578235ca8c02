"""Advice about a query file, beyond its errors."""
