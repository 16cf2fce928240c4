"""Kernels on a GPU: the driver, and calls of a kernel there. Neither is imported where no kernel is for a GPU."""
