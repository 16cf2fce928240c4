from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: n.word + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'n.word': a node has children, and nothing else
  at payload_as_an_attribute.py:5
  because: it is a handle: what nodes carry is a tensor, which is read at a node
  fix: word = ra.node_input("word"), and word[n]
"""
