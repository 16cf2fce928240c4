from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.sum(0, lambda j: x[n, j]))

MESSAGE = """\
ModelError: ra.sum: 0 is no extent
  at sum_over_nothing.py:5
  because: an extent is a whole number from 1 on
"""
