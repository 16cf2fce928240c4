from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf))

MESSAGE = """\
ModelError: if_then_else: the function returns (condition, then, else)
  at branch_without_else.py:6
  fix: lambda n, i: (ra.isleaf(n), leaf, inner)
"""
