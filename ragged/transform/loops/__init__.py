"""Primitives that change loops: their extents, their order, and which loops there are."""
