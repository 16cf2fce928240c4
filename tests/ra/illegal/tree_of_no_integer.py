from cortex import ra

ra.Tree(max_children=2.0)

MESSAGE = """\
ModelError: ra.Tree: max_children=2.0 is no integer
  at tree_of_no_integer.py:3
  fix: give the largest number of children, or None for any
"""
