"""Sets of integer points, by isl: the one importer of `islpy`, which each function here imports when it is called.

What isl finds is proposed to the rest of the compiler, which proves it again with its own prover.
"""
