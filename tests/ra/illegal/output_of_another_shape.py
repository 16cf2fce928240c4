from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, 2 * H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i // 2]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: output 'h' has shape (ra.N, 8), its placeholder (ra.N, 4)
  at output_of_another_shape.py:6
  because: what a child returned is read through the placeholder
  fix: give both one shape
"""
