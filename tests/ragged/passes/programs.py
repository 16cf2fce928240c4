"""Small programs over nodes, in text, that the passes' tests start from, and data for them."""

import numpy as np

TREE = """\
program("tree")

num_nodes: input()
num_inner: input() = facts(0 <= num_inner < num_nodes + 1)
num_batches: input() = facts(1 <= num_batches < num_nodes + 2)
batch_begin: input(b < num_batches) = facts(tiling(batch_length, num_inner, num_nodes))
batch_length: input(b < num_batches)
left: input(n < num_inner) = facts(n + 1 <= left(n) < num_nodes, follows(batch_begin, batch_length))
right: input(n < num_inner) = facts(n + 1 <= right(n) < num_nodes, follows(batch_begin, batch_length))
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
        for n in parallel(batch_length(b + 1)):
            node = batch_begin(b + 1) + n
            for i in serial(4):
                lh[node, i] = h[left(node), i]
            for i in serial(4):
                rh[node, i] = h[right(node), i]
            for i in serial(4):
                h[node, i] = tanh(lh[node, i] + rh[node, i])
"""


def tree_data(depth: int, seed: int) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays for `TREE`: a random binary tree of at most that height, numbered by height."""
    random = np.random.default_rng(seed)
    levels: list[int] = [1 + int(random.integers(0, 3))]
    for _ in range(depth):
        levels.append(int(random.integers(1, 4)))
    counts = [count + (1 if height == 0 else 0) for height, count in enumerate(levels)]
    num_nodes = sum(counts)
    begins = [num_nodes - sum(counts[: height + 1]) for height in range(len(counts))]
    num_inner = begins[0]
    left, right = np.zeros(num_inner, np.int32), np.zeros(num_inner, np.int32)
    for height in range(1, len(counts)):
        for node in range(begins[height], begins[height] + counts[height]):
            tall = begins[height - 1] + int(random.integers(0, counts[height - 1]))
            other = int(random.integers(begins[height - 1], num_nodes))
            left[node], right[node] = (tall, other) if random.integers(2) else (other, tall)
    sizes = {"num_nodes": num_nodes, "num_inner": num_inner, "num_batches": len(counts)}
    arrays = {
        "batch_begin": np.array(begins, np.int32),
        "batch_length": np.array(counts, np.int32),
        "left": left,
        "right": right,
        "word": random.integers(-1, 10, num_nodes).astype(np.int32),
        "emb": random.standard_normal((10, 4)).astype(np.float32),
    }
    return sizes, arrays
