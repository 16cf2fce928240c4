from cortex import ra

ra.recursion_op({})

MESSAGE = """\
ModelError: recursion_op: no outputs
  at outputs_none.py:3
  fix: {"h": (h_ph, h)}
"""
