from cortex import ra

N, K, H = ra.N, ra.K, 4
x = ra.node_input("x", (H,))
ra.compute((N, K, H), lambda n, i: x[n, i])

MESSAGE = """\
ModelError: compute: the function takes 2 arguments, shape (ra.N, ra.K, 4) has 3 dimensions
  at function_of_wrong_arity_with_children.py:5
  fix: lambda n, k, i: ...
"""
