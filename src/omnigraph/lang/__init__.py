"""Text to typed plan. Pure: no files, no Arrow, no Lance; importing it builds no grammar."""
