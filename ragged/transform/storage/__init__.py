"""Primitives that change buffers: copies, sizes, layouts, and where a buffer lives."""
