from cortex import ra

ra.Tree(max_children=0)

MESSAGE = """\
ModelError: ra.Tree: max_children=0 allows no recursion
  at tree_without_children.py:3
  fix: give the largest number of children, or None for any
"""
