"""Small programs over nodes, in text, that the passes' tests start from."""

TREE = """\
program("tree")

num_nodes: structure()
num_inner: structure() = facts(0 <= num_inner < num_nodes + 1)
num_batches: structure() = facts(1 <= num_batches < num_nodes + 2)
batch_begin: structure(b < num_batches) = facts(tiling(batch_length, num_inner, num_nodes))
batch_length: structure(b < num_batches)
left: structure(n < num_inner) = facts(n + 1 <= left(n) < num_nodes, follows(batch_begin, batch_length))
right: structure(n < num_inner) = facts(n + 1 <= right(n) < num_nodes, follows(batch_begin, batch_length))
word: payload(n < num_nodes) = facts(-1 <= word(n) < 10)
emb: parameter(float32[10, 4])
h: output(float32[num_nodes, 4])
lh: workspace(float32[num_nodes, 4])
rh: workspace(float32[num_nodes, 4])

with kernel:
    for n in parallel(batch_length(0)):
        node = batch_begin(0) + n
        for i in serial(4):
            h[node, i] = emb[word(node), i] if word(node) >= 0 else 0.0
    for b in serial(num_batches - 1):
        for n_1 in parallel(batch_length(b + 1)):
            node_1 = batch_begin(b + 1) + n_1
            for i_1 in serial(4):
                lh[node_1, i_1] = h[left(node_1), i_1]
            for i_2 in serial(4):
                rh[node_1, i_2] = h[right(node_1), i_2]
            for i_3 in serial(4):
                h[node_1, i_3] = tanh(lh[node_1, i_3] + rh[node_1, i_3])
"""
