"""Each read on its own: as many indices as dimensions, of the right kinds, of variables in scope."""

from __future__ import annotations

from typing import Never

from cortex.ra.base import K, N, S, StructureDim
from cortex.ra.cases import handles
from cortex.ra.collect import Recursion
from cortex.ra.expr import Expr, Index, IndexVar, Read
from cortex.ra.node import ChildAt, ChildVar, Node, NodeVar
from cortex.ra.shapes import counted, described
from cortex.ra.sites import ExprSite, all_reads, sites
from cortex.ra.tensor import Placeholder
from ragged.errors import ModelError
from ragged.ir.dtype import INDEX


def check_rank(recursion: Recursion) -> None:
    """A read has an index for each dimension."""
    for _, read in all_reads(recursion.bodies):
        if len(read.indices) != len(read.tensor.shape):
            raise ModelError(
                f"'{recursion.text(read)}' has {counted(len(read.indices), 'index', 'indices')}, "
                f"'{recursion.name(read.tensor)}' {counted(len(read.tensor.shape), 'dimension')}",
                at=read.at,
                because=f"its shape is {described(read.tensor.shape)}",
            )


def check_index_kinds(recursion: Recursion) -> None:
    """N is indexed by a node, K by a child of that node, a dense dimension by an integer."""
    for _, read in all_reads(recursion.bodies):
        for index, dim in zip(read.indices, read.tensor.shape, strict=True):
            _check_index_kind(recursion, read, index, dim)


def _check_index_kind(recursion: Recursion, read: Read, index: Index, dim: StructureDim | int) -> None:
    if dim is S and not isinstance(index, NodeVar):
        raise ModelError(
            f"'{recursion.text(read)}': '{index.text()}' is neither the structure nor the node of the compute",
            at=read.at,
            because=f"'{recursion.name(read.tensor)}' has a value for each structure (ra.S)",
            fix="read it at the n, or the s, of the compute",
        )
    if dim is N and isinstance(index, Expr):
        _refuse_computed_node(recursion, read, index)
    if dim is K and not (isinstance(index, ChildVar) and index.node is read.indices[0]):
        shown = index.text(recursion.name) if isinstance(index, Expr) else index.text()
        raise ModelError(
            f"'{recursion.text(read)}': '{shown}' is no child of the node",
            at=read.at,
            because=f"'{recursion.name(read.tensor)}' has a value for each child of a node (ra.K)",
            fix="reduce over the children, ra.sum_children(n, lambda k: f[n, k, i]), or compute over ra.K",
        )
    if isinstance(dim, int) and not isinstance(index, Expr):
        raise ModelError(
            f"'{recursion.text(read)}': '{index.text()}' is a node, and the dimension has {dim} elements",
            at=read.at,
            fix="index it with an index of the compute, a number or an integer payload",
        )
    if isinstance(index, Expr) and index.dtype is not INDEX:
        raise ModelError(
            f"'{recursion.text(read)}': '{index.text(recursion.name)}' is no integer",
            at=read.at,
            because=f"it is of {index.dtype.value}",
            fix='index with integers: node_input(..., dtype="int32")',
        )


def _refuse_computed_node(recursion: Recursion, read: Read, index: Expr) -> Never:
    what = f"'{recursion.text(read)}'"
    shown = index.text(recursion.name)
    if isinstance(read.tensor, Placeholder):
        raise ModelError(
            f"{what}: a recursive call at a computed node (P.2)",
            at=read.at,
            because=f"'{shown}' is a number, and which nodes a node calls must follow from the structure alone",
            fix="call at n.left, n.right, n.child(j), or at all children with ra.sum_children",
        )
    raise ModelError(
        f"{what}: '{shown}' is no node",
        at=read.at,
        because=f"'{recursion.name(read.tensor)}' has a value for each node (ra.N)",
        fix="index it with the n of the compute",
    )


def check_scope(recursion: Recursion) -> None:
    """Nodes and indices belong to the compute, or to an enclosing reduction."""
    for body in recursion.bodies:
        for site in sites(body):
            for name in _foreign(site):
                raise ModelError(
                    f"'{name}' belongs to another function",
                    at=site.expr.at,
                    because=f"the function of '{recursion.name(body)}' was not given it",
                    fix="read a tensor of that compute instead: other[n, i]",
                )


def _foreign(site: ExprSite) -> list[str]:
    """Return the variables of a site's expression, operands excluded, that are not in scope."""
    expr = site.expr
    if isinstance(expr, IndexVar) and all(expr is not index for index in site.indices):
        return [expr.name]
    used = (node for handle in handles(expr) for node in _variables(handle))
    known = (site.node, site.structure, *site.children)
    return [node.text() for node in used if node not in known]


def _variables(node: Node) -> list[NodeVar | ChildVar]:
    """Return the variables from which a handle is built."""
    match node:
        case NodeVar():
            return [node]
        case ChildVar():
            return [node, *_variables(node.node)]
        case ChildAt():
            return _variables(node.node)
