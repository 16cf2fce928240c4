from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: sum(x))

MESSAGE = """\
ModelError: tensor 'x' cannot be iterated over
  at tensor_iterated.py:5
  fix: reduce over a dense index with ra.sum, over children with ra.sum_children
"""
