"""`.pg` text ─► syntax tree ─► Catalog ─► MigrationPlan."""
