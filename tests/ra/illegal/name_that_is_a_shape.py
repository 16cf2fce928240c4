from cortex import ra

H = 4
ra.input_tensor((H, H), "W")

MESSAGE = """\
ModelError: input_tensor: (4, 4) is no name
  at name_that_is_a_shape.py:4
  because: a name is a string
  fix: input_tensor("some_name", shape)
"""
