from cortex import ra

x = ra.node_input("x", (3,))
ra.layer_norm(x, eps=-1)

MESSAGE = """\
ModelError: layer_norm: eps=-1
  at layer_norm_of_a_negative_eps.py:4
  because: it is added to a variance, of which the root is taken
  fix: 1e-5
"""
