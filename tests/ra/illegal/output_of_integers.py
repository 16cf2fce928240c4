from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.num_children(n) + i)
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: output 'h' computes integers
  at output_of_integers.py:6
  because: results are floats
  fix: multiply by 1.0
"""
