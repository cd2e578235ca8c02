"""A plan and a snapshot in, Arrow rows out. `run.py` walks the plan; everything else serves it."""
