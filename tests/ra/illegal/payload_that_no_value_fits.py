from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
kind = ra.node_input("kind", dtype="int32")
A, B = ra.input_tensor("A", (3,)), ra.input_tensor("B", (9,))
h = ra.compute((N, H), lambda n, i: A[kind[n]] * B[kind[n] - 5] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: payload 'kind' indexes tables that no value fits
  at payload_that_no_value_fits.py:6
  because: one read needs it to be at least 5, another at most 2
  fix: make the tables agree, or guard the reads with ra.where
"""
