"""Ragged operators against other libraries: what is computed, what is right, which peers are timed."""
