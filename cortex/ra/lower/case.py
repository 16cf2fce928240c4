"""The statements of one node in one case of a model: at leaves, at inner nodes, or at any node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cortex.ilir.classes import Comparison
from cortex.ilir.loops import is_leaf
from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.cases import handles
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts, atoms, comparison, condition_key, subject, tests_payload
from cortex.ra.lower.constants import Constants, UniformValues
from cortex.ra.lower.inputs import Inputs
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.order import adjacent_reductions
from cortex.ra.lower.tables import LookupTables
from cortex.ra.lower.zeros import Zeros
from cortex.ra.model import Model
from cortex.ra.node import ChildAt
from cortex.ra.tensor import Body, Compute, IfThenElse
from cortex.ra.walk import subexpressions
from ragged.ir.expr import Buffer, Expr, Unary
from ragged.ir.ops import Combiner, UnaryOp
from ragged.ir.stmt import If, Stmt, block


@dataclass
class Case:
    """A model's computes under a set of known about its branches on the structure."""

    model: Model
    buffers: Buffers
    computed: Mapping[ModelTensor, frozenset[int]]
    inputs: Inputs
    node: Expr
    known: CaseFacts
    constants: Constants | None = None
    written: dict[Compute, Buffer] = field(default_factory=dict)
    asking: dict[Compute, bool] = field(default_factory=dict)
    zeros: Zeros = field(init=False)
    same: UniformValues = field(init=False)

    def __post_init__(self) -> None:
        leaf = self.known.leaf is True
        self.zeros = Zeros(self.known.truth, self.resolve, leaf)
        self.same = UniformValues(self.known, self.operands, self.resolve, self.zeros if leaf else None)

    @property
    def tables(self) -> LookupTables:
        """The lookup tables."""
        return self.inputs.tables

    def undecided(self) -> ra.Expr | None:
        """Return an atomic condition that this case depends on and leaves open, or None."""
        for tensor in self.needed():
            for atom in self.choices(tensor):
                if self.known.truth(atom) is None:
                    return atom
        return None

    def matters(self, check: Comparison) -> bool:
        """Return whether specializing an open comparison changes the code of this case.

        It does if a condition follows from one of its answers, or if a number that is used does: an index, or the
        number of children that a loop runs over.
        """
        answers = [self.known.compared(check, answer) for answer in (True, False)]
        single = any(known.values[check.payload].only is not None for known in answers)
        for expr in self._reachable():
            compared = comparison(expr)
            if compared is not None and compared.payload == check.payload:
                if self.known.answer(compared) is None and any(
                    k.answer(compared) is not None for k in answers
                ):
                    return True
            elif single and self._uses(expr, check.payload):
                return True
        return False

    def _uses(self, expr: ra.Expr, payload: str | None) -> bool:
        """Return whether an expression or its direct operand, comparisons excluded, is the payload's value."""
        if payload is None and isinstance(expr, ra.ChildReduce):
            return True
        return any(subject(part) == (payload, True) for part in self.operands(expr))

    def _reachable(self) -> Iterator[ra.Expr]:
        """Yield the expressions that may be evaluated here, outermost first; both sides of open branches."""
        seen: set[ModelTensor] = set()
        stack = [self.resolve(tensor) for _, tensor in self.model.outputs.values()]
        while stack:
            tensor = stack.pop()
            if tensor in seen or self.is_hoisted(tensor) or self.tables.holds(tensor):
                continue
            seen.add(tensor)
            if isinstance(tensor, IfThenElse):
                stack += (self.resolve(tensor.then), self.resolve(tensor.orelse))
            for expr in self._exprs(tensor):
                yield expr
                if isinstance(expr, ra.Read) and not self._is_zero(expr):
                    stack.append(self.resolve(expr.tensor))

    def _exprs(self, tensor: ModelTensor) -> Iterator[ra.Expr]:
        match tensor:
            case Compute(child=child, body=body):
                if child is not None:  # its loop is over children, as that of a sum over them
                    yield ra.ChildReduce(Combiner.SUM, child, body, dtype=body.dtype)
                yield from self._under(body)
            case IfThenElse(condition=condition):
                yield from self._under(condition)
            case _:
                pass

    def _under(self, expr: ra.Expr) -> Iterator[ra.Expr]:
        yield expr
        for operand in self.operands(expr):
            yield from self._under(operand)

    def resolve(self, tensor: ModelTensor) -> ModelTensor:
        """Follow decided branches to the tensor that is computed."""
        while isinstance(tensor, IfThenElse):
            decided = self.known.truth(tensor.condition)
            if decided is None:
                return tensor
            tensor = tensor.then if decided else tensor.orelse
        return tensor

    def needed(self) -> list[ModelTensor]:
        """Return the computes, and open branches, that the outputs depend on, in topological order."""
        done: dict[ModelTensor, None] = {}
        stack: list[tuple[ModelTensor, bool]] = [
            (self.resolve(tensor), False) for _, tensor in reversed(list(self.model.outputs.values()))
        ]
        while stack:
            tensor, ready = stack.pop()
            if tensor in done or not isinstance(tensor, Compute | IfThenElse):
                continue
            if ready or isinstance(tensor, IfThenElse):
                done[tensor] = None
                continue
            stack.append((tensor, True))
            done_before = self.is_hoisted(tensor) or self.tables.holds(tensor)
            if not done_before and not self.is_constant(tensor):
                stack.extend((self.resolve(read), False) for read in reversed(list(self.reads(tensor.body))))
        return list(done)

    def is_hoisted(self, tensor: ModelTensor) -> bool:
        """Return whether this case reads a tensor that is computed before the recursion."""
        here = self.inputs.but_leaves and self.known.leaf is True
        return tensor in self.inputs.hoisted and not here

    def _temporary(self, tensor: Compute) -> Buffer:
        own = tensor in self.inputs.hoisted  # what comes before at other nodes has another buffer there
        return self.buffers.at_leaves(tensor) if own else self.buffers.temporary(tensor)

    def is_constant(self, tensor: Compute) -> bool:
        """Return whether a tensor is computed when parameters are bound."""
        return self.constants is not None and self.same.holds(tensor) and self.same.pays(tensor.body)

    def stmts(self) -> Stmt:
        """Return the nests of this case, with results stored to the output buffers."""
        zeros = self.zeros if self.zeros.childless else None
        constant = self.inputs.constants.of_expr
        nests = Nests(self.buffers, self.known, self.result, self.node, constant, zeros)
        targets = self.targets()
        parts: list[Stmt] = []
        for tensor in adjacent_reductions(self.needed(), self.operands, self.resolve):
            assert isinstance(tensor, Compute)
            if self.tables.holds(tensor):
                self.written[tensor] = self.tables.buffer(tensor)
                continue
            if self.is_hoisted(tensor):
                self.inputs.ask(tensor, False if self.needs_children(tensor) else self.known.leaf)
                self.written[tensor] = self.inputs.buffer(tensor)
                continue
            if self.constants is not None and self.is_constant(tensor):
                self.written[tensor] = self.constants.buffer(self.same, tensor)
                continue
            self.written[tensor] = targets.get(tensor) or self._temporary(tensor)
            nest = nests.compute(tensor, self.written[tensor])
            parts.append(If(self.has_children(), nest) if self.needs_children(tensor) else nest)
        for placeholder, output in self.model.outputs.values():
            source = self.resolve(output)
            target = self.buffers.outputs[placeholder]
            assert isinstance(source, Compute)
            if self.written[source] is not target:
                parts.append(nests.copy(self.written[source], target, source.indices))
        return block(*parts)

    def needs_children(self, tensor: Compute) -> bool:
        """Return whether a tensor is defined at nodes with children only, in a case of all nodes.

        Such a tensor is read in loops over children only, or by another such tensor.
        """
        if tensor not in self.asking:
            self.asking[tensor] = self._needs_children(tensor)
        return self.asking[tensor]

    def _needs_children(self, tensor: Compute) -> bool:
        if self.known.leaf is not None or tensor.child is not None or 0 in self.computed[tensor]:
            return False
        sources = (self.resolve(source) for source in self.reads(tensor.body))
        if any(isinstance(source, Compute) and self.needs_children(source) for source in sources):
            return True
        if self.tables.holds(tensor):  # which has rows for what nodes with children carry alone
            return True
        exprs = tuple(subexpressions(tensor.body))
        looks_up = (index for expr in exprs if isinstance(expr, ra.Read) for index in expr.indices)
        return any(isinstance(handle, ChildAt) for expr in exprs for handle in handles(expr)) or any(
            isinstance(index, ra.Expr) and any(isinstance(e, ra.Read) for e in subexpressions(index))
            for index in looks_up
        )

    def has_children(self) -> Expr:
        """Return whether the node has children."""
        return Unary(UnaryOp.NOT, is_leaf(self.buffers.functions, self.node))

    def targets(self) -> dict[Compute, Buffer]:
        """Return the output buffer of each result; a second output of one result is copied."""
        found: dict[Compute, Buffer] = {}
        for placeholder, output in self.model.outputs.values():
            source = self.resolve(output)
            if isinstance(source, Compute):
                found.setdefault(source, self.buffers.outputs[placeholder])
        return found

    def result(self, tensor: ModelTensor) -> Buffer:
        """Return the buffer of a tensor's values in this case."""
        source = self.resolve(tensor)
        assert isinstance(source, Compute)
        return self.written[source]

    def choices(self, tensor: ModelTensor) -> Iterator[ra.Expr]:
        """Yield the atomic conditions that select which computes a tensor depends on in this case.

        A branch of `where` that reads a compute selects as `if_then_else` does: the compute may be undefined, and have
        no buffer, at nodes of the other branch. Conditions of `where` on payloads do not count: the computes that its
        branches read are defined whatever their value.
        """
        match tensor:
            case IfThenElse(condition=condition):
                if self.known.truth(condition) is None:
                    yield from (atom for atom in atoms(condition) if condition_key(atom) is not None)
            case Compute(body=body):
                conditions = (atom for condition in self._wheres(body) for atom in atoms(condition))
                yield from (a for a in conditions if condition_key(a) is not None and not tests_payload(a))
            case _:
                pass

    def _wheres(self, expr: ra.Expr) -> Iterator[ra.Expr]:
        if isinstance(expr, ra.Where):
            decided = self.known.truth(expr.condition)
            if decided is not None:
                yield from self._wheres(expr.if_true if decided else expr.if_false)
                return
            branches = (*self.reads(expr.if_true), *self.reads(expr.if_false))
            if any(isinstance(tensor, Body) for tensor in branches):
                yield expr.condition
        for operand in self.operands(expr):
            yield from self._wheres(operand)

    def reads(self, expr: ra.Expr) -> Iterator[ModelTensor]:
        """Yield the tensors that an expression reads in this case."""
        if isinstance(expr, ra.Read) and not self._is_zero(expr):
            yield expr.tensor
        for operand in self.operands(expr):
            yield from self.reads(operand)

    def operands(self, expr: ra.Expr) -> tuple[ra.Expr, ...]:
        """Return the operands of an expression that are evaluated in this case."""
        if self._is_zero(expr) or (isinstance(expr, ra.ChildReduce) and self.known.leaf is True):
            return ()
        if isinstance(expr, ra.Where):
            decided = self.known.truth(expr.condition)
            if decided is not None:
                return (expr.if_true if decided else expr.if_false,)
        return ra.operands(expr)

    def _is_zero(self, expr: ra.Expr) -> bool:
        return self.zeros.childless and self.zeros.holds(expr)
