"""TypedQuery ─► logical plan, and how a person reads it."""
