"""The plan's operators over frames, one subject per file."""
