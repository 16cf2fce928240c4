from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.concat_children(W, 2)

MESSAGE = """\
ModelError: concat_children: x has shape (3, 4), count=2
  at concat_of_what_children_have.py:7
  fix: a tensor (ra.N, F), and count=2 for binary trees
"""
