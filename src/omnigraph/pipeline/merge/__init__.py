"""A branch merge too large for the driver: tasks compare rows and write files, on any runner."""
