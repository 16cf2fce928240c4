"""Dynamic shapes: one function for all sizes, against libraries and per-shape code (DietCode, section 6)."""
