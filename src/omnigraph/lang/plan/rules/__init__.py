"""Rewrites of a plan, one per file. `lang/plan/optimise.py` lists them in order."""
