from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n: x[n, 0])

MESSAGE = """\
ModelError: compute: the function takes 1 argument, shape (ra.N, 4) has 2 dimensions
  at function_of_wrong_arity.py:5
  fix: lambda n, i: ...
"""
