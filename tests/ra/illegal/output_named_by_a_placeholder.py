from cortex import ra

H = 2
h_ph = ra.placeholder((ra.N, H))
h = ra.compute((ra.N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op({h_ph: h})

MESSAGE = """\
ModelError: recursion_op: the name of an output is of type Placeholder, not a string
  at output_named_by_a_placeholder.py:6
  fix: recursion_op({"h": (h_ph, h), "c": (c_ph, c)})
"""
