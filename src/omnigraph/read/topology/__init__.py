"""Who is next to whom: adjacency as arrays, made from edge tables and kept by their identity."""
