from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: 1.0 if x[n, i] > 0 else 0.0)

MESSAGE = """\
ModelError: 'x[n, i] > 0.0' cannot decide a Python branch (P.1)
  at p1_python_branch.py:5
  because: the model is written once for all nodes, and what a value is, is known only when it runs
  fix: ra.if_then_else to branch on the structure, ra.where to choose a value, & | ~ for and, or, not
"""
