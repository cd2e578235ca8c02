"""`.gq` text + Catalog ─► TypedQuery, with every type error at once."""
