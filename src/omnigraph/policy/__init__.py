"""Who may do what, and see or write which rows: bundles of rules become decisions and conditions.

Rules are written in YAML or in Cedar (`bundle`), compiled to Cedar (`compile`), checked against the
catalog of a snapshot, and asked by the engine's gate (`policy`). Cedar decides; of rules that look
at rows it leaves a rest for each actor, which becomes a condition that the engine reads with
(`residuals`, `translate`). Whatever can't be decided is denied.
"""
