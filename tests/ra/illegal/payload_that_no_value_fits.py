"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
kind = ra.node_input("kind", dtype="int32")
A, B = ra.input_tensor("A", (3,)), ra.input_tensor("B", (9,))
h = ra.compute((N, H), lambda n, i: A[kind[n]] * B[kind[n] - 5] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)
