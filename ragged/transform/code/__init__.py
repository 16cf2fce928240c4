"""Primitives that change statements and expressions: where they are computed, and with which instructions."""
