from cortex import ra

ra.input_tensor("E", 3)

MESSAGE = """\
ModelError: input_tensor 'E': a shape is a tuple of extents, not 3
  at shape_that_is_a_number.py:3
  fix: (ra.N, 256), or (256,)
"""
