"""Data made from a seed, and what is asked of it. Every system must give the same answers."""
