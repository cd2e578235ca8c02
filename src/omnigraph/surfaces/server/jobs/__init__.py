"""Load jobs: loads that are larger than a request, or whose files lie beside the server."""
