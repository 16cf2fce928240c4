"""CUDA: a program for a grid of blocks as one kernel in CUDA C++, and what nvcc makes of it.

TVM has a code generator for CUDA too. It is not used: its library cannot be loaded where there is no driver, and a
program here says already what it would decide, its threads, barriers and memory on chip.
"""
