"""Three-way merge: what another side changed since a base, brought to ours, row by row."""
