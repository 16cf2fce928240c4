"""A tensor compiler for ragged tensors: loops whose bounds depend on data, over arrays without padding."""
