from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
z = ra.compute((N, H), lambda n, i: x[n, i] > 0)
h = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ra.where(z[n, i], h_ph[k, i], 0.0)))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'z' computes truth values
  at compute_of_truth_values.py:6
  because: it is x[n, i] > 0.0
  fix: use the condition where it is needed, or ra.where(condition, 1.0, 0.0)
"""
