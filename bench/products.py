"""What a model has to multiply at a leaf and at an inner node, read off the model itself.

A product is a sum over a dense index of something times something. It is needed at a node unless what it gives is
known there without it, or is not read there: the children's sum of a leaf is zero, and so is a recurrent product
of it; a forget gate is one for each child, of which a leaf has none; an input that inner nodes do not carry makes
the product with it zero. Looking a row up in a table is no product, and its bytes are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from bench.known import Known
from cortex import ra
from cortex.ra.expr import BinaryExpr, ChildReduce, DenseReduce, Expr, Index, IndexVar, Read, Where, operands
from cortex.ra.tensor import Compute, IfThenElse, InputTensor, Placeholder
from ragged.ir.ops import BinaryOp, Combiner


@dataclass(frozen=True, slots=True)
class Product:
    """A product at one node, or at each of its children: its floating-point operations, and the weights that it reads.

    `weights` are their bytes by what is read; equal names are the same bytes. What is `recurrent` waits for the
    children's states.
    """

    name: str
    flops: int
    per_child: bool
    weights: tuple[tuple[str, int], ...]
    recurrent: bool


def needed_products(model: ra.Model, *, leaf: bool, carries: bool) -> list[Product]:
    """Return the products that a model needs at a leaf, or at an inner node; `carries` says whether it has payloads."""
    need = _Need(Known(leaf=leaf, carries=carries))
    for _, body in model.outputs.values():
        need.tensor(body)
    return need.found


class _Need:
    """Walks from the outputs to what they are computed from, past what is known."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.found: list[Product] = []
        self._seen: set[object] = set()

    def tensor(self, tensor: object) -> None:
        """Note what a tensor of the model needs."""
        if tensor in self._seen:
            return
        self._seen.add(tensor)
        match tensor:
            case Compute():
                self._expr(tensor, tensor.body, ())
            case IfThenElse():
                self.tensor(self.known.branch(tensor))
            case _:
                return

    def _expr(self, of: Compute, expr: Expr, around: tuple[DenseReduce | ChildReduce, ...]) -> None:
        if self.known.value(expr) is not None:
            return
        match expr:
            case Read(tensor=tensor):
                self.tensor(tensor)
            case Where(condition=condition, if_true=if_true, if_false=if_false):
                known = self.known.value(condition)
                parts = (if_true, if_false) if known is None else (if_true,) if known else (if_false,)
                for part in parts:
                    self._expr(of, part, around)
                return
            case DenseReduce(combiner=Combiner.SUM, body=body) if _terms(body):
                self.found.append(_product(of, expr, around, self.known))
            case _:
                pass
        inside = (*around, expr) if isinstance(expr, DenseReduce | ChildReduce) else around
        for part in operands(expr):
            self._expr(of, part, inside)


def _product(
    of: Compute, expr: DenseReduce, around: tuple[DenseReduce | ChildReduce, ...], known: Known
) -> Product:
    extents = [extent for extent in of.shape if isinstance(extent, int)]
    extents += [outer.index.extent for outer in around if isinstance(outer, DenseReduce)]
    per_child = of.child is not None or any(isinstance(outer, ChildReduce) for outer in around)
    weights = tuple((read.text(), _bytes(read)) for read in _reads(expr.body) if _is_weight(read))
    flops = 2 * _terms(expr.body) * prod(extents) * expr.index.extent
    return Product(of.name, flops, per_child, weights, _reads_states(expr.body, known))


def _reads_states(expr: Expr, known: Known) -> bool:
    """Whether a child's state is read, here or by what is read here."""
    if known.value(expr) is not None:
        return False
    below = list(operands(expr))
    match expr:
        case Read(tensor=Placeholder()):
            return True
        case Read(tensor=Compute(body=body)):
            below.append(body)
        case Read(tensor=IfThenElse() as choice):
            chosen = known.branch(choice)
            below += [chosen.body] if isinstance(chosen, Compute) else []
        case _:
            pass
    return any(_reads_states(part, known) for part in below)


def _terms(expr: Expr) -> int:
    """Return how many products are added up in the body of a sum."""
    match expr:
        case BinaryExpr(op=BinaryOp.MUL):
            return 1
        case BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB, lhs=lhs, rhs=rhs):
            return _terms(lhs) + _terms(rhs)
        case _:
            return 0


def _reads(expr: Expr) -> Iterator[Read]:
    if isinstance(expr, Read):
        yield expr
    for part in operands(expr):
        yield from _reads(part)


def _is_weight(read: Read) -> bool:
    """Whether it reads a parameter at places that are the same for all nodes."""
    dense = all(isinstance(inner, Expr) and not list(_reads(inner)) for inner in read.indices)
    return isinstance(read.tensor, InputTensor) and dense


def _bytes(read: Read) -> int:
    """Return how many bytes of a parameter are read over all values of its indices."""
    variables = {id(variable): variable for index in read.indices for variable in _variables(index)}
    return 4 * prod(variable.extent for variable in variables.values())


def _variables(index: Index) -> Iterator[IndexVar]:
    if isinstance(index, IndexVar):
        yield index
    elif isinstance(index, Expr):
        for part in operands(index):
            yield from _variables(part)
