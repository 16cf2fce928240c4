from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, H))
h = ra.compute((N, H), lambda n, i: W[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W[n, i]': 'n' is a node, and the dimension has 4 elements
  at read_with_a_node_as_index.py:7
  fix: index it with an index of the compute, a number or an integer payload
"""
