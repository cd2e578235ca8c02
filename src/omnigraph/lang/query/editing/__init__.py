"""What an editor asks of a query that is still being written."""
