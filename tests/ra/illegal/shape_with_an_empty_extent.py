"""ModelError: input_tensor 'W': 0 is no extent
at shape_with_an_empty_extent.py:9
because: an extent is a whole number from 1 on
"""

from cortex import ra

N, H = ra.N, 4
ra.input_tensor("W", (H, 0))
