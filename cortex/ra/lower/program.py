"""From a scheduled model to a program: a correct, naive one of fully materialised loops (CORTEX, Listing 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cortex.ilir.loops import Cases, is_leaf, node_loops
from cortex.ilir.structure import StructureFunctions, structure_functions
from cortex.ra import expr as ra
from cortex.ra.base import Tensor
from cortex.ra.cases import CaseAnalysis, handles
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.decide import LEAF, Decisions, atoms, decide, key
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.translate import Point
from cortex.ra.model import Model
from cortex.ra.node import ChildAt
from cortex.ra.tensor import Body, Compute, IfThenElse
from ragged.ir.expr import Buffer, Call, Expr, Function, Unary
from ragged.ir.facts import Fact, Follows, Injective, Monotone, PrefixSum, Range, Tiling
from ragged.ir.ops import UnaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import If, Stmt, block
from ragged.ir.walk import all_expressions, subexpressions


def lower(model: Model, *, batched: bool, specialized: bool, name: str = "model") -> Program:
    """Return the program that runs `model` at every node of a batch of structures.

    `batched` runs the nodes of one height together (dynamic batching), else one node after another; with
    `specialized`, leaves and inner nodes have nests of their own, else each node asks what it is.
    """
    functions = structure_functions(model.plan())
    lowering = _Lowering(model, functions, Buffers(model, functions))
    kernel = lowering.kernel(batched=batched, specialized=specialized)
    buffers = lowering.buffers.all()
    used = _used_functions(functions.all(), functions.facts, kernel, buffers)
    facts = tuple(fact for fact in functions.facts if _subjects(fact) <= used)
    declared = tuple(function for function in functions.all() if function in used)
    return Program(name, declared, buffers, facts, (Stage(StageKind.KERNEL, kernel),))


@dataclass
class _Lowering:
    model: Model
    functions: StructureFunctions
    buffers: Buffers
    splits: bool = field(init=False)
    computed: Mapping[Tensor, frozenset[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.computed = CaseAnalysis(self.model).computed
        conditions = (c for tensor in self.model.computes for c in _choices(tensor, {}))
        self.splits = any(key(atom) == LEAF for condition in conditions for atom in atoms(condition))

    def kernel(self, *, batched: bool, specialized: bool) -> Stmt:
        if not self.splits:
            cases = Cases(lambda node: self.body(node, {}))
        else:
            cases = Cases(
                lambda node: self.body(node, {LEAF: True}),
                lambda node: self.body(node, {LEAF: False}),
            )
        return node_loops(self.functions, cases, batched=batched, specialized=specialized)

    def body(self, node: Expr, decisions: Decisions) -> Stmt:
        """Return what one node does in a case, asking for each condition that the case leaves open."""
        case = _Case(self, node, decisions)
        open_atom = case.undecided()
        if open_atom is None:
            return case.stmts()
        nests = Nests(self.buffers, decisions, case.result, node)
        condition = nests.translator.expr(open_atom, Point(node))
        name = key(open_atom)
        return If(
            condition,
            self.body(node, {**decisions, name: True}),
            self.body(node, {**decisions, name: False}),
            open_atom.at,
        )


@dataclass
class _Case:
    """A model's computes where all its branches on the structure are decided, or are being."""

    lowering: _Lowering
    node: Expr
    decisions: Decisions
    written: dict[Compute, Buffer] = field(default_factory=dict)

    def undecided(self) -> ra.Expr | None:
        """Return an atomic condition that this case needs and does not know, or None."""
        for tensor in self.needed():
            for condition in _choices(tensor, self.decisions):
                for atom in atoms(condition):
                    if key(atom) is not None and key(atom) not in self.decisions:
                        return atom
        return None

    def resolve(self, tensor: Tensor) -> Tensor:
        """Follow decided branches to the tensor that is computed."""
        while isinstance(tensor, IfThenElse):
            decided = decide(tensor.condition, self.decisions)
            if decided is None:
                return tensor
            tensor = tensor.then if decided else tensor.orelse
        return tensor

    def needed(self) -> list[Tensor]:
        """Return the computes, and open branches, that the outputs depend on, each after what it reads."""
        done: dict[Tensor, None] = {}
        stack: list[tuple[Tensor, bool]] = [
            (self.resolve(tensor), False)
            for _, tensor in reversed(list(self.lowering.model.outputs.values()))
        ]
        while stack:
            tensor, ready = stack.pop()
            if tensor in done or not isinstance(tensor, Compute | IfThenElse):
                continue
            if ready or isinstance(tensor, IfThenElse):
                done[tensor] = None
                continue
            stack.append((tensor, True))
            stack.extend(
                (self.resolve(read), False) for read in reversed(list(_reads(tensor.body, self.decisions)))
            )
        return list(done)

    def stmts(self) -> Stmt:
        """Return the nests of this case, results stored where the outputs live."""
        nests = Nests(self.lowering.buffers, self.decisions, self.result, self.node)
        targets = self.targets()
        parts: list[Stmt] = []
        for tensor in self.needed():
            assert isinstance(tensor, Compute)
            self.written[tensor] = targets.get(tensor) or self.lowering.buffers.temporary(tensor)
            nest = nests.compute(tensor, self.written[tensor])
            parts.append(If(self.has_children(), nest) if self.asks_for_children(tensor) else nest)
        for placeholder, output in self.lowering.model.outputs.values():
            source = self.resolve(output)
            target = self.lowering.buffers.outputs[placeholder]
            assert isinstance(source, Compute)
            if self.written[source] is not target:
                parts.append(nests.copy(self.written[source], target, source.indices))
        return block(*parts)

    def asks_for_children(self, tensor: Compute) -> bool:
        """Return whether a tensor has a value at nodes with children only, in a case of all nodes.

        Such a one is read in loops over children alone. Where it could be computed at leaves too, it is: that is
        simpler.
        """
        if LEAF in self.decisions or tensor.child is not None or 0 in self.lowering.computed[tensor]:
            return False
        exprs = tuple(_subexpressions(tensor.body))
        looks_up = (index for expr in exprs if isinstance(expr, ra.Read) for index in expr.indices)
        return any(isinstance(handle, ChildAt) for expr in exprs for handle in handles(expr)) or any(
            isinstance(index, ra.Expr) and any(isinstance(e, ra.Read) for e in _subexpressions(index))
            for index in looks_up
        )

    def has_children(self) -> Expr:
        """Return whether the node has children."""
        return Unary(UnaryOp.NOT, is_leaf(self.lowering.functions, self.node))

    def targets(self) -> dict[Compute, Buffer]:
        """Return the output that each result is stored to; of two outputs with one result the second is copied."""
        found: dict[Compute, Buffer] = {}
        for placeholder, output in self.lowering.model.outputs.values():
            source = self.resolve(output)
            if isinstance(source, Compute):
                found.setdefault(source, self.lowering.buffers.outputs[placeholder])
        return found

    def result(self, tensor: Tensor) -> Buffer:
        """Return the buffer that holds a tensor's values in this case."""
        source = self.resolve(tensor)
        assert isinstance(source, Compute)
        return self.written[source]


def _choices(tensor: Tensor, decisions: Decisions) -> Iterator[ra.Expr]:
    """Yield the conditions that choose, in a case, which computes a tensor depends on.

    A branch of `where` that reads a compute chooses as one of `if_then_else` does: the compute may have no value, and
    no place to take one from, at nodes that go the other way.
    """
    match tensor:
        case IfThenElse(condition=condition):
            if decide(condition, decisions) is None:
                yield condition
        case Compute(body=body):
            yield from _wheres(body, decisions)
        case _:
            pass


def _wheres(expr: ra.Expr, decisions: Decisions) -> Iterator[ra.Expr]:
    if isinstance(expr, ra.Where):
        decided = decide(expr.condition, decisions)
        if decided is not None:
            yield from _wheres(expr.if_true if decided else expr.if_false, decisions)
            return
        branches = (*_reads(expr.if_true, decisions), *_reads(expr.if_false, decisions))
        if any(isinstance(tensor, Body) for tensor in branches):
            yield expr.condition
    if isinstance(expr, ra.ChildReduce) and decisions.get(LEAF) is True:
        return
    for operand in ra.operands(expr):
        yield from _wheres(operand, decisions)


def _subexpressions(expr: ra.Expr) -> Iterator[ra.Expr]:
    yield expr
    for operand in ra.operands(expr):
        yield from _subexpressions(operand)


def _reads(expr: ra.Expr, decisions: Decisions) -> Iterable[Tensor]:
    """Yield the tensors that an expression reads in a case."""
    if isinstance(expr, ra.Where):
        decided = decide(expr.condition, decisions)
        if decided is not None:
            yield from _reads(expr.if_true if decided else expr.if_false, decisions)
            return
    if isinstance(expr, ra.ChildReduce) and decisions.get(LEAF) is True:
        return
    if isinstance(expr, ra.Read):
        yield expr.tensor
    for operand in ra.operands(expr):
        yield from _reads(operand, decisions)


def _used_functions(
    all_functions: Iterable[Function], facts: Iterable[Fact], kernel: Stmt, buffers: Iterable[Buffer]
) -> set[Function]:
    """Return the functions that a program calls, directly, in shapes, or through what is known of others."""
    shapes = (subexpressions(extent) for buffer in buffers for extent in buffer.shape)
    roots = (*all_expressions(kernel), *(expr for shape in shapes for expr in shape))
    used: set[Function] = set()
    pending = [expr.function for expr in roots if isinstance(expr, Call)]
    while pending:
        function = pending.pop()
        if function in used:
            continue
        used.add(function)
        inside = [param.extent for param in function.params] + (
            [] if function.body is None else [function.body]
        )
        pending += _called(inside)
        for fact in facts:
            if _subjects(fact) <= used:
                pending += _called(_bounds(fact))
    return used & set(all_functions)


def _called(exprs: Iterable[Expr]) -> list[Function]:
    return [e.function for expr in exprs for e in subexpressions(expr) if isinstance(e, Call)]


def _subjects(fact: Fact) -> set[Function]:
    """Return the functions that a program must call for a fact to matter to it."""
    match fact:
        case Range(function=function) | Monotone(function=function) | Injective(function=function):
            return {function}
        case PrefixSum(offset=offset, length=length):
            return {offset, length}
        case Tiling(begin=begin, length=length):
            return {begin, length}
        case Follows(pointer=pointer, begin=begin, length=length, via=via):
            return {pointer, begin, length} | ({via} if via else set())


def _bounds(fact: Fact) -> tuple[Expr, ...]:
    """Return the expressions that a fact's statement has in it."""
    match fact:
        case Range(lower=lower, upper=upper):
            return (lower, upper)
        case Tiling(first=first, total=total):
            return (first, total)
        case Monotone() | Injective() | PrefixSum() | Follows():
            return ()
