"""Compiled functions, shared by the front ends: signature, code, cache on disk, files, profile and log.

Only `generate` and `work` need the compiler.
"""
