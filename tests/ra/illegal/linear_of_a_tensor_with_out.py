from cortex import ra

x = ra.node_input("x", (3,))
W = ra.input_tensor("W", (4, 3))
ra.linear(x, W, out=5)

MESSAGE = """\
ModelError: linear: out= with a tensor W
  at linear_of_a_tensor_with_out.py:5
  because: it is for a module's name: W has a row for each element of the result, and b is its bias or None
  fix: ra.linear(x, W, b)
"""
