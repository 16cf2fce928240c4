from cortex import ra

x = ra.node_input("x")
ra.compute((ra.N,), lambda n: x[n] @ x[n])

MESSAGE = """\
ModelError: '@' joins expressions, which are numbers
  at product_by_at.py:4
  fix: ra.sum(extent, lambda k: x[..., k] * y[k, ...]) of two tensors
"""
