"""The steps from one schema to another."""
