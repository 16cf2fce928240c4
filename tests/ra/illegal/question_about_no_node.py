from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.where(ra.isleaf(i), 1.0, 0.0))

MESSAGE = """\
ModelError: isleaf: 'i' is no node
  at question_about_no_node.py:5
  fix: give it the n of the compute
"""
