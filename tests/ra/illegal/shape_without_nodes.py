from cortex import ra

H = 4
ra.compute((H, H), lambda i, j: 1.0)

MESSAGE = """\
ModelError: compute: shape (4, 4) does not begin with ra.N
  at shape_without_nodes.py:4
  because: everything but a parameter has a value for each node
  fix: shape (ra.N, 4, 4)
"""
