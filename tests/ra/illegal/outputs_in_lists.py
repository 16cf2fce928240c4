from cortex import ra

h_ph, c_ph = ra.placeholder((ra.N, 8)), ra.placeholder((ra.N, 8))
h = ra.compute((ra.N, 8), lambda n, i: c_ph[n.left, i])
c = ra.compute((ra.N, 8), lambda n, i: h_ph[n.right, i])
ra.recursion_op([h_ph, c_ph], [h, c])  # type: ignore[arg-type]

MESSAGE = """\
ModelError: recursion_op: a list is neither a placeholder nor results by name
  at outputs_in_lists.py:6
  fix: recursion_op(h_ph, h) for one result, recursion_op({"h": (h_ph, h), "c": (c_ph, c)}) for several
"""
