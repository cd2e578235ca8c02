"""A load, from staged rows to changes that can be published."""
