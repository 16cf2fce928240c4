from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
emb = ra.input_tensor("emb", (9, H))
word = ra.node_input("word", dtype="int32", default=-1)
h = ra.compute((N, H), lambda n, i: emb[word[n], i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'emb[word[n], i]' is read where a node carries no 'word'
  at default_outside_of_its_table.py:8
  because: 'word' is -1 there, and dimension 0 of 'emb' has 9 elements
  fix: ra.where(word[n] >= 0, emb[word[n], i], 0.0)
"""
