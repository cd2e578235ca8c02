"""Text and columns of an input become rows of the graph's types."""
