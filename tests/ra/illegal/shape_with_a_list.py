from cortex import ra

ra.input_tensor("W", (4, [3]))

MESSAGE = """\
ModelError: input_tensor 'W': [3] is no extent
  at shape_with_a_list.py:3
  because: an extent is a whole number from 1 on
"""
