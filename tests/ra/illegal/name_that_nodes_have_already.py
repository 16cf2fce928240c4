from cortex import ra

ra.node_input("children", dtype="int32")

MESSAGE = """\
ModelError: node_input: 'children' is no name
  at name_that_nodes_have_already.py:3
  because: a node's children have that name
  fix: node_input("some_name", shape)
"""
