"""Statements of every kind, none of which reads what was not written, races or leaves its buffers' bounds."""

from dataclasses import dataclass, field, replace

from ragged.ir.build import index, within
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Dim, Expr, Ref, Role, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Reduce,
    Stmt,
    Store,
    block,
)
from tests.ragged.ir.generate.functions import World
from tests.ragged.ir.generate.values import Here, Values, number

DTYPES = (DType.FLOAT32, DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.BOOL)
NAMES = ("i", "j", "k", "n", "exp", "x.y", "1st", "in")
DIMS = (Dim("N"), Dim("i"), Dim("K"))


@dataclass
class Bodies:
    """Draws statements; `left` is how many more it may draw."""

    world: World
    values: Values = field(init=False)
    left: int = 16
    count: int = 0

    def __post_init__(self) -> None:
        self.values = Values(self.world)

    def pick(self, options):
        return self.values.pick(options)

    def var(self, dtype: DType = INDEX) -> Var:
        return Var(self.pick(NAMES), dtype)

    def label(self, name: str) -> Label:
        return Label(name if self.world.flag() else self.pick((f"{name}.part", "step", "9 lives")))

    def dim(self) -> Dim | None:
        return self.pick((None, *DIMS))

    # --- suites

    def suite(self, here: Here, depth: int) -> Stmt:
        """Return up to three statements, one after another."""
        count = self.pick((2, 1, 3, 0))
        return Block(tuple(self.stmt(here, depth) for _ in range(count)))

    def stmt(self, here: Here, depth: int) -> Stmt:
        """Return one statement, with others in it if `depth` allows."""
        self.left -= 1
        simple = [self.store, self.store, self.store, self.store, self.check]
        nested = [self.reduction, self.reduction, self.serial, self.serial, self.branch, self.let, self.alloc]
        nested += [self.parallel, self.vectorized]
        if self.left < 0 or depth == 0:
            return self.pick(simple)(here)
        return self.pick([*2 * nested, *simple])(here, depth)

    # --- plain statements

    def store(self, here: Here, depth: int = 0) -> Stmt:
        if not here.writable:
            return Block()
        buffer = self.pick(sorted(here.writable, key=list(here.shapes).index))
        value, bound = self.values.value(here, buffer.dtype)
        bounded = value if bound <= 8 else self.values.bounded(value, 8)
        return Store(self.label(buffer.name), buffer, self.values.place(here, buffer), bounded)

    def check(self, here: Here, depth: int = 0) -> Stmt:
        count = self.world.integer(1, 4)
        value = self.values.index(here, Const(count), count)
        message = self.pick(('{0} is "out"', "it's {0}", "plain"))
        return Check(self.label("check"), within(value, Const(0), Const(count)), message, (value,))

    # --- scopes

    def let(self, here: Here, depth: int) -> Stmt:
        if self.world.flag():
            count = self.world.integer(1, 4)
            var, value = self.var(), self.values.index(here, Const(count), count, 2)
            return Let(var, value, self.suite(here.with_int(Ref(var), 0, count - 1), depth - 1))
        dtype = self.pick(DTYPES[:5])
        var, value = self.var(dtype), self.values.value(here, dtype)[0]
        return Let(var, value, self.suite(replace(here, scalars=(*here.scalars, var)), depth - 1))

    def alloc(self, here: Here, depth: int) -> Stmt:
        counts = tuple(self.world.integer(1, 3) for _ in range(self.world.integer(0, 2)))
        scope = self.pick((MemoryScope.GLOBAL, MemoryScope.REGISTER))
        shape = tuple(Const(count) for count in counts)
        buffer = Buffer(self.pick(("acc", "tile")), self.pick(DTYPES), shape, Role.LOCAL, scope=scope)
        inner = replace(here, shapes={**here.shapes, buffer: counts}, writable=here.writable | {buffer})
        return Alloc(buffer, block(self.fill(here, buffer, counts), self.suite(inner, depth - 1)))

    def branch(self, here: Here, depth: int) -> Stmt:
        then = self.suite(here, depth - 1)
        orelse = self.suite(here, depth - 1) if self.world.flag() else None
        return If(self.values.condition(here), then, orelse)

    # --- loops

    def serial(self, here: Here, depth: int) -> Stmt:
        extent, most = self.values.extent(here)
        kind = (
            self.pick((LoopKind.SERIAL, LoopKind.UNROLLED)) if isinstance(extent, Const) else LoopKind.SERIAL
        )
        var = self.var()
        inner = here.with_int(Ref(var), 0, most - 1) if most > 0 else here
        return For(var, extent, self.suite(self._ragged(inner, extent, var), depth - 1), kind, self.dim())

    def _ragged(self, here: Here, extent: Expr, var: Var) -> Here:
        """Add the position in storage to what a loop over a ragged row may use."""
        match extent:
            case Call(function=function, args=(arg,)) if function in self.world.offsets and self.world.totals:
                total = self.world.totals[0][1]
                return here.with_int(self.values.offset(function, arg, var), 0, total - 1)
            case _:
                return here

    def parallel(self, here: Here, depth: int) -> Stmt:
        split = self._shared_out(here)
        if split is None:
            return self.store(here)
        var, extent, count, inner = split
        inner = inner.with_int(Ref(var), 0, count - 1)
        return For(var, extent, self.suite(inner, depth - 1), LoopKind.PARALLEL, self.dim())

    def vectorized(self, here: Here, depth: int) -> Stmt:
        split = self._shared_out(here)
        if split is None:
            return self.store(here)
        var, _, count, inner = split
        inner = inner.with_int(Ref(var), 0, count - 1)
        body = block(self.store(inner), *([self.store(inner)] if self.world.flag() else []))
        return For(var, Const(count), body, LoopKind.VECTORIZED)

    def _shared_out(self, here: Here) -> tuple[Var, Expr, int, Here] | None:
        """Return a loop over a buffer's dimension that gives each iteration its part of that and of others."""
        free = [(b, d) for b in here.shapes if b in here.writable for d in range(len(b.shape))]
        free = [(b, d) for b, d in free if d not in here.own.get(b, {})]
        if not free:
            return None
        first, position = self.pick(free)
        var, count = self.var(), here.shapes[first][position]
        return var, first.shape[position], count, self.owning(here, var, count, free)

    def owning(self, here: Here, var: Var, count: int, free: list[tuple[Buffer, int]]) -> Here:
        """Return what iteration `var` may use: some buffers at its own positions, the others unwritten."""
        own, writable = dict(here.own), set()
        for buffer, position in free:
            if here.shapes[buffer][position] >= count and buffer not in writable and self.world.flag():
                own[buffer] = {**own.get(buffer, {}), position: Ref(var)}
                writable.add(buffer)
        return replace(here, own=own, writable=frozenset(writable))

    def reduction(self, here: Here, depth: int) -> Stmt:
        """Return a reduction in one or two loops of its own, after a store of what it starts from."""
        numeric = [b for b in here.shapes if b in here.writable and b.dtype is not DType.BOOL]
        if not numeric:
            return Block()
        buffer, combiner = self.pick(numeric), self.pick(Combiner)
        place, init = self.values.place(here, buffer), self._init(buffer.dtype, combiner)
        inner, loops = here.without(buffer), []
        for _ in range(self.world.integer(1, 2)):
            extent, most = self.values.extent(inner)
            var = self.var()
            inner = self._ragged(inner.with_int(Ref(var), 0, most - 1) if most > 0 else inner, extent, var)
            loops.append((var, extent))
        value = self.values.bounded(self.values.value(inner, buffer.dtype)[0], 1)
        axes = tuple(var for var, _ in loops)
        nest: Stmt = Reduce(self.label(buffer.name), buffer, place, combiner, value, axes, init)
        for var, extent in reversed(loops):
            nest = For(var, extent, nest, dim=self.dim())
        return block(Store(self.label(f"{buffer.name}.init"), buffer, place, init), nest)

    def _init(self, dtype: DType, combiner: Combiner) -> Const:
        if self.world.flag() and (dtype.is_float or combiner in (Combiner.SUM, Combiner.PROD)):
            # An infinity would spread to everything that reads it.
            tame = (
                8 if combiner is Combiner.MIN else -8 if combiner is Combiner.MAX else int(combiner.identity)
            )
            return number(tame, dtype)
        return number(self.world.integer(-2, 2), dtype)

    # --- teams

    def team(self, here: Here) -> Stmt:
        """Return a team's loop: phases with a barrier after each, some of them in a loop of the whole team."""
        free = [(b, d) for b in here.shapes if b in here.writable for d in range(len(b.shape))]
        if not free:
            return Block()
        buffer, position = self.pick(free)
        var, count = self.var(), here.shapes[buffer][position]
        phases = block(*(self._phase(here, var, count, free) for _ in range(self.world.integer(1, 2))))
        if self.world.flag():
            phases = For(self.var(), Const(self.world.integer(0, 2)), phases)
        if self.world.flag():
            phases = If(Binary(BinaryOp.LT, index(0), index(self.world.functions[0])), phases)
        return For(var, buffer.shape[position], phases, LoopKind.TEAM)

    def _phase(self, here: Here, var: Var, count: int, free: list[tuple[Buffer, int]]) -> Stmt:
        inner = self.owning(here, var, count, free).with_int(Ref(var), 0, count - 1)
        return block(self.suite(inner, 2), Barrier(self.label("barrier")))

    # --- what programs begin with

    def fill(self, here: Here, buffer: Buffer, counts: tuple[int, ...]) -> Stmt:
        """Return loops that write all of `buffer`."""
        inner, loops = here, []
        for extent, count in zip(buffer.shape, counts, strict=True):
            var = self.var()
            inner = inner.with_int(Ref(var), 0, count - 1)
            loops.append((var, extent))
        value, bound = self.values.value(inner, buffer.dtype, 1)
        bounded = value if bound <= 8 else self.values.bounded(value, 8)
        nest: Stmt = Store(self.label(buffer.name), buffer, tuple(Ref(var) for var, _ in loops), bounded)
        for (var, extent), dim in reversed(list(zip(loops, buffer.dims, strict=True))):
            nest = For(var, extent, nest, dim=dim)
        return nest
