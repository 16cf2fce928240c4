from cortex import ra

N, K, H = ra.N, ra.K, 4
ra.placeholder((N, K, H))

MESSAGE = """\
ModelError: placeholder: shape (ra.N, ra.K, 4) has the dimension of children
  at placeholder_of_children.py:4
  because: it has one value for each node, whatever its parents are
  fix: a value for each child of a node is ra.compute((ra.N, ra.K, ...), lambda n, k, ...: ...)
"""
