"""Compiled programs as things to keep: generated through given passes, cached on disk, saved, loaded and timed.

What recursive models and ragged operators have in common between their languages and `ragged.runtime`. `generate` is
the compiler, and the only module here that needs it.
"""
