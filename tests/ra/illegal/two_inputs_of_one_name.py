from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W, V = ra.input_tensor("W", (H,)), ra.input_tensor("W", (H,))
h = ra.compute((N, H), lambda n, i: W[i] * V[i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: two inputs are called 'W'
  at two_inputs_of_one_name.py:6
  because: the other is declared at two_inputs_of_one_name.py:6
  fix: give each its own name, or read one tensor in both places
"""
