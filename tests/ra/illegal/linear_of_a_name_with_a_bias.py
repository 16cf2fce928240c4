from cortex import ra

x = ra.node_input("x", (3,))
b = ra.input_tensor("b", (3,))
ra.linear(x, "gate", b, out=3)

MESSAGE = """\
ModelError: linear: 'gate' and a bias beside it
  at linear_of_a_name_with_a_bias.py:5
  because: the bias of the module of that name is 'gate.bias', which is declared here
  fix: leave the bias out, or give the weight as a tensor too
"""
