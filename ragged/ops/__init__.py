"""Ready-made operators, each written in the Ragged API alone and compiled once for all lengths and sizes.

A function or a layer is compiled when a process first needs its configuration (widths, heads, options, how many
dimensions there are and which of them vary), and then serves every batch. All take `target`, `threads`, `precision`,
`options` and `schedule` as `ragged.compile` does, and `tune` looks for the best `options`. They take ragged arrays, or
what `ragged.array` makes them of, and give results in memory of the caller's. `matmul`, `batch_matmul`,
`conv2d`, `Conv2d` and `Dense` take dense arrays of any library with DLPack, of any sizes.

Functions take one of the floats: float32, float64, which is computed in float64, or float16 or bfloat16, which are
computed in float32; results are of the type of the arguments, which is the same for all of a call. Layers take float32.
"""

from ragged.ops.convolution import Conv2d, conv2d
from ragged.ops.decoder import DecoderCache, TransformerDecoderLayer
from ragged.ops.dense import Dense
from ragged.ops.elementwise import add, div, maximum, minimum, mul, sub
from ragged.ops.encoder import TransformerEncoderLayer
from ragged.ops.gemm import vgemm
from ragged.ops.linear import Linear, linear
from ragged.ops.multihead import MultiheadAttention
from ragged.ops.norm import LayerNorm, layer_norm
from ragged.ops.pool import max_pool, mean_pool, sum_pool
from ragged.ops.products import batch_matmul, matmul
from ragged.ops.sdpa import scaled_dot_product_attention
from ragged.ops.softmax import softmax
from ragged.ops.stack import TransformerEncoder
from ragged.ops.triangles import tradd, triangle, trmul
from ragged.ops.trmm import trmm
from ragged.ops.tuned import tune

__all__ = [
    "Conv2d",
    "DecoderCache",
    "Dense",
    "LayerNorm",
    "Linear",
    "MultiheadAttention",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "add",
    "batch_matmul",
    "conv2d",
    "div",
    "layer_norm",
    "linear",
    "matmul",
    "max_pool",
    "maximum",
    "mean_pool",
    "minimum",
    "mul",
    "scaled_dot_product_attention",
    "softmax",
    "sub",
    "sum_pool",
    "tradd",
    "triangle",
    "trmm",
    "trmul",
    "tune",
    "vgemm",
]
