"""Text and vectors of a column as arrays: which rows match, which rank best, and their scores."""
