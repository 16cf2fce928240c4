from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.sum_children(n, h_ph[n.left, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: ra.sum_children: 'h_ph[n.left, i]' is no function
  at sum_over_children_of_no_function.py:5
  because: the model calls it, with the indices that there are
  fix: ra.sum_children(..., lambda k: ...)
"""
