"""`python -m omnigraph` is the command line."""

from omnigraph.surfaces.cli.process import program

program()
