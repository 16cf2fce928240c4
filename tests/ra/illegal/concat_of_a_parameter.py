from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.concat(h, W)

MESSAGE = """\
ModelError: concat: 'W' has shape (3, 4)
  at concat_of_a_parameter.py:7
  because: it is computed over the last extent of a tensor at nodes or children
  fix: concat(x) of a tensor x (ra.N, ..., F)
"""
