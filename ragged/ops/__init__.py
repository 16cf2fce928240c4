"""Ready-made operators over ragged arrays, each written in the Ragged API alone and compiled once for all lengths.

A function or a layer is compiled when a process first needs its configuration (widths, heads, options, how many
dimensions there are and which of them vary), and then serves every batch. All take ragged arrays, or what
`ragged.array` makes them of, float32, and give results in memory of the caller's.
"""

from ragged.ops.elementwise import add, div, maximum, minimum, mul, sub
from ragged.ops.encoder import TransformerEncoderLayer
from ragged.ops.gemm import vgemm
from ragged.ops.linear import Linear, linear
from ragged.ops.multihead import MultiheadAttention
from ragged.ops.norm import LayerNorm, layer_norm
from ragged.ops.pool import max_pool, mean_pool, sum_pool
from ragged.ops.sdpa import scaled_dot_product_attention
from ragged.ops.softmax import softmax
from ragged.ops.stack import TransformerEncoder
from ragged.ops.triangles import tradd, triangle, trmul
from ragged.ops.trmm import trmm

__all__ = [
    "LayerNorm",
    "Linear",
    "MultiheadAttention",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "add",
    "div",
    "layer_norm",
    "linear",
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
    "vgemm",
]
