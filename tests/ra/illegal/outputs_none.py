"""ModelError: recursion_op: no outputs
at outputs_none.py:8
fix: {"h": (h_ph, h)}
"""

from cortex import ra

ra.recursion_op({})
