from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
ra.recursion_op(h_ph, x)

MESSAGE = """\
ModelError: recursion_op: output 'h' is not a placeholder and its compute
  at output_that_is_no_compute.py:6
  fix: recursion_op({"h": (h_ph, h)}), where h is a compute; {"y": y} if nothing reads y at a child
"""
