"""The systems that `changes.py` compares. Each is a module with a class `Changes`; see `base`."""
