"""A load as a use case: its request, its preparation, its ending."""
