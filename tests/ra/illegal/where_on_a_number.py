from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.where(x[n, i], 1.0, 0.0))

MESSAGE = """\
ModelError: 'where(x[n, i], 1.0, 0.0)': the condition is a number
  at where_on_a_number.py:5
  fix: compare it: where(x != 0, ...)
"""
