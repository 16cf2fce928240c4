"""Ragged operators against other libraries: what is computed, what is right, who is timed."""
