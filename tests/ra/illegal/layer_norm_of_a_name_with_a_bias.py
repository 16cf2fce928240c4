from cortex import ra

x = ra.node_input("x", (3,))
b = ra.input_tensor("b", (3,))
ra.layer_norm(x, "norm", b)

MESSAGE = """\
ModelError: layer_norm: 'norm' and a bias beside it
  at layer_norm_of_a_name_with_a_bias.py:5
  because: the bias of the module of that name is 'norm.bias', which is declared here
  fix: leave the bias out, or give the weight as a tensor too
"""
