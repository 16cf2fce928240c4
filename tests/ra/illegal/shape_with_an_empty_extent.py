from cortex import ra

H = 4
ra.input_tensor("W", (H, 0))

MESSAGE = """\
ModelError: input_tensor 'W': 0 is no extent
  at shape_with_an_empty_extent.py:4
  because: an extent is a whole number from 1 on
"""
