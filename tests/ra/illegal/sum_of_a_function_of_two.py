from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.sum(H, lambda n, j: x[n, j]))

MESSAGE = """\
ModelError: ra.sum: the function takes 2 arguments, and is given one
  at sum_of_a_function_of_two.py:5
  fix: lambda k: ...
"""
