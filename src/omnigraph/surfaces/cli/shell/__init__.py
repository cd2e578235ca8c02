"""`omnigraph shell`: questions and changes typed one after another."""
