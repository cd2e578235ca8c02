"""What the plan's operators do to a frame, one subject per file."""
