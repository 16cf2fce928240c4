"""CUDA: emit a program for a grid of blocks as one kernel in CUDA C++, and compile it with nvcc.

TVM's CUDA code generator is not used: its library cannot be loaded without a driver, and a program here already
determines its threads, barriers and shared memory.
"""
