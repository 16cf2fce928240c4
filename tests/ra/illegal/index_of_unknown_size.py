from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, H))
h = ra.compute((N, H), lambda n, i: W[ra.num_children(n), i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W[num_children(n), i]': 'num_children(n)' may leave dimension 0 of 'W'
  at index_of_unknown_size.py:7
  because: the dimension has 4 elements, and how large 'num_children(n)' may be is not known
  fix: index with a payload, which each call checks, or with num_children(n) % 4
"""
