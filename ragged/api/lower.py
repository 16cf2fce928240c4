"""Lowering operators over ragged tensors to a naive program: one loop nest for each operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragged.api.bounds import Bounds
from ragged.api.build_signature import build_signature
from ragged.api.extent_checks import extent_checks
from ragged.api.functions_of import Functions
from ragged.api.program import ScheduleDecisions, computed, rows_of, tensors_of
from ragged.api.signature import RaggedSignature
from ragged.api.storage import stored
from ragged.api.tensors import Kind, RaggedTensor, Reduction
from ragged.arith.fold import FoldedSubstitution
from ragged.ir.expr import Buffer, Call, Const, Expr, Function, Load, Ref, Role, Source, Var
from ragged.ir.facts import PrefixSum
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import all_expressions
from ragged.layout.derived import derived_tables
from ragged.layout.packed import PackedLayout
from ragged.layout.prelude import prelude_programs
from ragged.layout.tables import PreludeTables, ValueTable
from ragged.passes.drop_unused import called

ROLES = {Kind.INPUT: Role.PAYLOAD, Kind.PARAMETER: Role.PARAMETER, Kind.COMPUTED: Role.WORKSPACE}


@dataclass(frozen=True, slots=True)
class LoweredOperators:
    """A program, with the operators' buffers, layouts and loop variables in it.

    `extent_checks` are statements that check the divisors of extents. `functions` are the lengths and sizes of a call.
    """

    program: Program
    extent_checks: Stmt
    signature: RaggedSignature
    buffers: Mapping[RaggedTensor, Buffer]
    layouts: Mapping[RaggedTensor, PackedLayout]
    loops: Mapping[tuple[RaggedTensor, int], Var]
    functions: Functions

    def preludes(self, program: Program, orders: Mapping[str, Function]) -> tuple[Program, ...]:
        """Return the programs that fill the tables of `program` and of its results.

        `orders` maps names of iteration orders to the tables of their work.
        """
        known = self.functions.tables
        tables = derived_tables(program, known.tables)
        used = {function for function in program.functions if function.source is Source.PRELUDE}
        used |= {table.function for table in tables if isinstance(table, ValueTable)}
        new = [function for function in program.functions if function not in known.functions]
        made = {each: orders[each.name] for each in program.functions if each.name in orders}
        return prelude_programs(program.name, (*known.functions, *new), tables, used, made)


def lower(name: str, outputs: Sequence[RaggedTensor], decisions: ScheduleDecisions) -> LoweredOperators:
    """Return the program that computes `outputs`.

    Raises:
        ModelError: lengths or names do not fit together.
        ScheduleError: a loop would run beyond the storage, or an operator cannot be computed inside the chosen loop.
    """
    return _OperatorLowering(name, tuple(outputs), decisions).lowered()


@dataclass
class _OperatorLowering:
    name: str
    outputs: tuple[RaggedTensor, ...]
    decisions: ScheduleDecisions
    tables: PreludeTables = field(default_factory=PreludeTables)
    buffers: dict[RaggedTensor, Buffer] = field(default_factory=dict)
    layouts: dict[RaggedTensor, PackedLayout] = field(default_factory=dict)
    loops: dict[tuple[RaggedTensor, int], Var] = field(default_factory=dict)

    def lowered(self) -> LoweredOperators:
        tensors = tensors_of(self.outputs)
        functions = Functions(tables=self.tables, tensors=tensors)
        for tensor in tensors:
            self.layouts[tensor] = stored(tensor, self.decisions, functions)
            self.buffers[tensor] = self.buffer(tensor)
        self.bounds = Bounds(self.decisions, functions, self.layouts)
        for tensor in tensors:
            self.bounds.require_extents(tensor)
        self.rewrite = _Accesses(self.layouts, self.buffers, functions)
        body = block(*(self.nest(each) for each in computed(tensors) if each not in self.decisions.at))
        program = self.program(body)
        signature = build_signature(self.name, tensors, self.outputs, self.layouts, functions, self.decisions)
        checks = block(
            *(
                extent_checks(tensor, functions, is_result=self.buffers[tensor].role is not Role.WORKSPACE)
                for tensor in tensors
            )
        )
        return LoweredOperators(program, checks, signature, self.buffers, self.layouts, self.loops, functions)

    def buffer(self, tensor: RaggedTensor) -> Buffer:
        layout = self.layouts[tensor]
        role = Role.OUTPUT if tensor in self.outputs else ROLES[tensor.kind]
        align = 4 if role is Role.PAYLOAD else 64
        return Buffer(tensor.name, tensor.dtype, layout.shape, role, align=align)

    def program(self, body: Stmt) -> Program:
        """Return the program of a body, with its functions."""
        shapes = [extent for buffer in self.buffers.values() for extent in buffer.shape]
        used = called((*shapes, *all_expressions(body)))
        facts = [fact for fact in self.tables.facts if fact.subject in used]
        for fact in facts:
            if isinstance(fact, PrefixSum):
                at = tuple(Const(0) for _ in fact.length.params)
                used |= called((Call(fact.length, at),))
        kept = tuple(function for function in self.tables.functions if function in used)
        return Program(
            self.name, kept, tuple(self.buffers.values()), tuple(facts), (Stage(StageKind.KERNEL, body),)
        )

    # --- nests ---------------------------------------------------------------------------------------------

    def nest(self, tensor: RaggedTensor, around: Mapping[Var, Expr] | None = None, depth: int = 0) -> Stmt:
        """Return the loops that compute a tensor inside `depth` existing loops, at the indices `around`."""
        at: dict[Var, Expr] = dict(around or {})
        extents: list[tuple[Var, Expr]] = []
        for position, each in enumerate(tensor.dims):
            index = tensor.indices[position]
            if position < depth:
                at[each.dim.var] = at[index]
                continue
            var = Var(index.name)
            extent = self.bounds.loop_extent(tensor, position)
            extents.append((var, self.placed(extent, at)))
            self.loops[tensor, position] = var
            at[index] = at[each.dim.var] = Ref(var)
        inner = self.body(tensor, at)
        parallel = self.parallel(tensor)
        for offset, (var, extent) in reversed(list(enumerate(extents))):
            position = depth + offset
            inner = block(*self.attached(tensor, position + 1, at), inner)
            kind = LoopKind.PARALLEL if position < parallel and not depth else LoopKind.SERIAL
            inner = For(var, extent, inner, kind, tensor.dims[position].dim.dim, tensor.at)
        return inner if depth else block(*self.attached(tensor, 0, at), inner)

    def parallel(self, tensor: RaggedTensor) -> int:
        """Return the number of parallel loops: the row loops, and those around attached tensors."""
        inside = [depth for own, depth in self.decisions.at.values() if own is tensor]
        return max([rows_of(tensor), *inside])

    def attached(self, tensor: RaggedTensor, depth: int, at: Mapping[Var, Expr]) -> list[Stmt]:
        """Return the nests of the tensors that are computed inside `depth` loops of this one, in order."""
        found = []
        for other in tensors_of((tensor,)):
            if other in self.decisions.at and self.decisions.home(other) == (tensor, depth):
                own = {other.indices[k]: at[tensor.indices[k]] for k in range(depth)}
                found.append(self.nest(other, own, depth))
        return found

    def body(self, tensor: RaggedTensor, at: Mapping[Var, Expr]) -> Stmt:
        """Return the statements that compute one element."""
        layout, buffer = self.layouts[tensor], self.buffers[tensor]
        place = FoldedSubstitution(
            values=dict(zip(layout.vars, (at[i] for i in tensor.indices), strict=True))
        )
        target = place.exprs(layout.place)
        match tensor.body:
            case Reduction() as reduction:
                return self.reduction(tensor, reduction, buffer, target, dict(at))
            case None:
                raise AssertionError("inputs are not computed")
            case value:
                stored_value = self.placed(self.bounds.guarded(tensor, value), at)
                return block(
                    *self.bounds.checks(tensor, value, lambda e: self.placed(e, at)),
                    Store(Label(tensor.name), buffer, target, stored_value, tensor.at),
                )

    def reduction(
        self,
        tensor: RaggedTensor,
        own: Reduction,
        buffer: Buffer,
        target: tuple[Expr, ...],
        at: dict[Var, Expr],
    ) -> Stmt:
        start: Expr = Const(own.combiner.identity_of(buffer.dtype), buffer.dtype)
        checks: list[Stmt] = []
        before = dict(at)
        if own.init is not None:
            start = self.placed(self.bounds.guarded(tensor, own.init), at)
            checks += self.bounds.checks(tensor, own.init, lambda e: self.placed(e, before))
        init = block(*checks, Store(Label(tensor.name), buffer, target, start, own.at))
        loops: list[tuple[Var, Expr]] = []
        for offset, axis in enumerate(own.axes):
            var = Var(axis.var.name)
            loops.append((var, self.placed(axis.extent.expr, at)))
            at[axis.var] = Ref(var)
            self.loops[tensor, len(tensor.dims) + offset] = var
        value = self.placed(self.bounds.guarded(tensor, own.body), at)
        axes = tuple(var for var, _ in loops)
        update = Reduce(Label(tensor.name), buffer, target, own.combiner, value, axes, start, own.at)
        nest: Stmt = block(*self.bounds.checks(tensor, own.body, lambda e: self.placed(e, at)), update)
        for var, extent in reversed(loops):
            nest = For(var, extent, nest, at=own.at)
        return block(init, nest)

    def placed(self, expr: Expr, at: Mapping[Var, Expr]) -> Expr:
        """Lower an expression of the API, with the values `at` of its indices."""
        return FoldedSubstitution(values=at).expr(self.rewrite.expr(expr))


class _Accesses(Rewriter):
    """Rewrites reads of tensors to reads of their buffers."""

    def __init__(
        self,
        layouts: Mapping[RaggedTensor, PackedLayout],
        buffers: Mapping[RaggedTensor, Buffer],
        functions: Functions,
    ) -> None:
        super().__init__()
        self.functions = functions
        self.where = {t.buffer: (layouts[t], buffers[t]) for t in layouts}

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Load):
            layout, buffer = self.where[expr.buffer]
            return Load(buffer, layout.at(self.exprs(expr.indices)), expr.at)
        done = super().expr(expr)
        return self.functions.call(done)
