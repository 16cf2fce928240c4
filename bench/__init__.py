"""Benchmarks: scripts that measure this project and others at the same work. None of it is installed."""
