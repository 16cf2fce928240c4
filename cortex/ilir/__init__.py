"""Recursion in the one IR: the functions that stand for structures, loops over nodes, the linearizer's plan."""
