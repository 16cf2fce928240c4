"""Storage of ragged tensors: the graph of which dimension depends on which, offsets, padding, and their prelude.

CoRa, section 5.3 and Appendix B: an element is found in constant time through one offset array for each dimension that
others depend on.
"""
