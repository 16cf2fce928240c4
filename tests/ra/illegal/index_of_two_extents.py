"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, 3))
h = ra.compute(
    (N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * x[n, j]) + ra.sum_children(n, lambda k: h_ph[k, i])
)
ra.recursion_op(h_ph, h)
