from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: (x[n, i] > 0) * x[n, i])

MESSAGE = """\
ModelError: 'x[n, i] > 0.0' mixes types
  at truth_value_in_arithmetic.py:5
  because: a number is needed here
  fix: ra.where(condition, 1.0, 0.0)
"""
