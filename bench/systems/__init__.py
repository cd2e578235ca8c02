"""The systems side by side. Each is a module with a class `System`; see `base`."""
