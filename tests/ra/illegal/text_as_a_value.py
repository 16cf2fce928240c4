from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: x[n, i] + "1")

MESSAGE = """\
ModelError: '1' stands where a number or an expression is needed
  at text_as_a_value.py:5
  because: it is a str
  fix: read a tensor at indices, as in h[n, i]
"""
