from cortex import ra

N, H = ra.N, 4
ra.compute((N, H), lambda n, i: ra.tanh(n))

MESSAGE = """\
ModelError: 'n' stands where a number or an expression is needed
  at node_as_a_value.py:4
  because: it is a NodeVar
  fix: read a tensor at indices, as in h[n, i]
"""
