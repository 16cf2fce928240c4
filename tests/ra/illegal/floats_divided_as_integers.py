from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: x[n, i] // 2)

MESSAGE = """\
ModelError: 'x[n, i] // 2.0' divides floats as integers
  at floats_divided_as_integers.py:5
  because: the operator is for integers
  fix: x / y, and where a remainder is needed x - y * floor(x / y)
"""
