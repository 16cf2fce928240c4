"""Tensor Comprehensions against other libraries, at the sizes of the paper (section 7)."""
