"""Graph algorithms as rounds of Spark's frames, for graphs that no process holds."""
