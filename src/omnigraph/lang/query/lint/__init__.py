"""What a query file should be told beyond its errors."""
