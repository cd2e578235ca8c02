"""`python -m omnigraph` is the command line."""

from omnigraph.surfaces.cli.main import main

main()
