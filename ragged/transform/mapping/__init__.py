"""Primitives that map loops to hardware: worker teams, grids, threads, vector lanes."""
