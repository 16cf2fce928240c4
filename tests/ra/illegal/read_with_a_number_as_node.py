from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[0, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'x[0, i]': '0' is no node
  at read_with_a_number_as_node.py:6
  because: 'x' has a value for each node (ra.N)
  fix: index it with the n of the compute
"""
