from cortex import ra

N, K, H = ra.N, ra.K, 4
ra.compute((N, H, K), lambda n, i, k: 1.0)

MESSAGE = """\
ModelError: compute: ra.K is no extent
  at shape_with_children_misplaced.py:4
  because: ra.K comes right after ra.N, and once
"""
