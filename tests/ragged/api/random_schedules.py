"""Random steps of a schedule: each is taken or refused, and a refused one changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from ragged.api.program import reads
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import Kind, Loop, RaggedTensor
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import loops_of
from ragged.ir.stmt import Block, For, LoopKind
from ragged.ir.verify import verify
from ragged.ir.walk import statements
from ragged.transform.code.hoist_loads import hoist_loads
from ragged.transform.code.inline import inline
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.fuse_horizontally import fuse_horizontally
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_read import cache_read

NAMES = {
    each.__name__: each
    for each in (
        cache_read,
        partition_loop,
        fuse,
        fuse_horizontally,
        fuse_ragged,
        hoist_loads,
        inline,
        pad_loop,
        parallel,
        reorder,
        simplify_guards,
        split,
        unroll,
        vectorize,
        Tail,
    )
}
"""What a log names."""


@dataclass
class Steps:
    """Draws steps on a schedule; `taken` and `refused` are their names, `why` the refusals."""

    draw: Random
    schedule: RaggedSchedule
    taken: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def some(self) -> None:
        """Try a few decisions, and then a few rewritings."""
        for _ in range(self.draw.randint(0, 3)):
            self.decide(self.draw.choice(sorted(DECISIONS)))
        for _ in range(self.draw.randint(1, 4)):
            self.rewrite(self.draw.choice(sorted(REWRITINGS)))

    def decide(self, name: str) -> None:
        """Try a decision; those that loops cannot be made with are refused as a whole."""
        again = replayed(self.schedule, self.schedule.log())
        try:
            DECISIONS[name](self, again)
            again.lower()
        except ScheduleError as error:
            self.refused.append(name)
            self.why.append(f"{name}: {error}")
            return
        self.taken.append(name)
        self.schedule = replayed(self.schedule, again.log())

    def rewrite(self, name: str) -> None:
        """Try a rewriting of loops; a refused one leaves everything as it was."""
        before, log = to_text(self.schedule.lower()), self.schedule.log()
        try:
            REWRITINGS[name](self, self.schedule)
        except ScheduleError as error:
            self.refused.append(name)
            self.why.append(f"{name}: {error}")
            assert (to_text(self.schedule.lower()), self.schedule.log()) == (before, log)
            return
        self.taken.append(name)
        verify(self.schedule.lower())

    # --- what is drawn -------------------------------------------------------------------------------------

    def tensor(self, s: RaggedSchedule) -> RaggedTensor:
        """Return a tensor that is computed, as often as not one that is no output."""
        found = [t for t in s.tensors if t.kind is Kind.COMPUTED]
        inside = [t for t in found if t not in s.outputs]
        return self.draw.choice(inside if inside and self.draw.random() < 0.6 else found)

    def position(self, tensor: RaggedTensor) -> int:
        return self.draw.randint(0, len(tensor.dims) - 1)

    def pair(self, tensor: RaggedTensor) -> tuple[int, int]:
        first = self.draw.randint(0, max(len(tensor.dims) - 2, 0))
        return first, min(first + 1, len(tensor.dims) - 1)

    def loop(self, s: RaggedSchedule, *, constant: bool = False) -> Var:
        """Return a loop, as often as not one of constant extent if that is asked for."""
        program = s.lower()
        known = [each.var for each in _loops(program) if isinstance(each.extent, Const)]
        return self.draw.choice(
            known if known and constant and self.draw.random() < 0.5 else loops_of(program)
        )

    def serial(self, s: RaggedSchedule) -> Var:
        """Return a loop, as often as not one that is serial, if there is one."""
        found = [each.var for each in _loops(s.lower()) if each.kind is LoopKind.SERIAL]
        return self.draw.choice(found) if found and self.draw.random() < 0.5 else self.loop(s)

    def nested(self, s: RaggedSchedule) -> tuple[Var, Var]:
        """Return two loops, as often as not directly inside each other."""
        loops = list(_loops(s.lower()))
        pairs = [(each.var, each.body.var) for each in loops if isinstance(each.body, For)]
        if pairs and self.draw.random() < 0.7:
            return self.draw.choice(pairs)
        return self.draw.choice(loops).var, self.draw.choice(loops).var

    def siblings(self, s: RaggedSchedule) -> tuple[Var, Var]:
        """Return two loops that stand after each other, if there are such."""
        kernel = s.lower().kernel
        parts = [
            each.var
            for each in (kernel.body if isinstance(kernel, Block) else (kernel,))
            if isinstance(each, For)
        ]
        first = self.draw.randint(0, max(len(parts) - 2, 0))
        return parts[first], parts[-1 if len(parts) < 2 else first + 1]

    def factor(self) -> int:
        return self.draw.randint(1, 4)


def _loops(program: Program) -> Iterator[For]:
    return (stmt for stmt in statements(program.kernel) if isinstance(stmt, For))


def replayed(schedule: RaggedSchedule, log: str) -> RaggedSchedule:
    """Return a new schedule of the same operators on which the steps of a log were taken."""
    s = RaggedSchedule(*schedule.outputs, name=schedule.name)
    exec(log, {"s": s, **NAMES})
    return s


def _pad_loop(d: Steps, s: RaggedSchedule) -> None:
    tensor = d.tensor(s)
    s.pad_loop(d.draw.choice(tensor.loops), d.factor())


def _pad_dimension(d: Steps, s: RaggedSchedule) -> None:
    tensor = d.tensor(s)
    s.pad_dimension(tensor.dims[d.position(tensor)], d.factor())


def _compute_at(d: Steps, s: RaggedSchedule) -> None:
    inside = [t for t in s.tensors if t.kind is Kind.COMPUTED and t not in s.outputs]
    tensor = d.draw.choice(inside if inside and d.draw.random() < 0.6 else s.tensors)
    readers = [each for each in s.tensors if tensor in set(reads(each))] or [tensor]
    reader = d.draw.choice(readers)
    s.compute_at(tensor, Loop(reader, d.draw.randint(0, min(len(reader.dims), len(tensor.dims)) - 1)))


def _fuse_dimensions(d: Steps, s: RaggedSchedule) -> None:
    tensor = d.tensor(s)
    first, second = d.pair(tensor)
    s.fuse_dimensions(tensor.dims[first], tensor.dims[second], d.draw.choice([1, 4]))


def _split_dimension(d: Steps, s: RaggedSchedule) -> None:
    tensor = d.tensor(s)
    s.split_dimension(tensor.dims[d.position(tensor)], d.factor() + 1)


def _reorder_dimensions(d: Steps, s: RaggedSchedule) -> None:
    tensor = d.tensor(s)
    s.reorder_dimensions(*d.draw.sample(tensor.dims, len(tensor.dims)))


def _fuse_loops(d: Steps, s: RaggedSchedule) -> None:
    s.fuse_loops(*d.nested(s), pad=d.draw.choice([1, 1, 4]))


def _split_loop(d: Steps, s: RaggedSchedule) -> None:
    s.split_loop(d.loop(s), d.factor() - d.draw.choice([0, 0, 0, 4]), d.draw.choice(list(Tail)))


def _cut(d: Steps, s: RaggedSchedule) -> None:
    loop = d.loop(s)
    s.partition_loop(loop, d.draw.choice(["1", "2", "S // 2 * 2", f"{loop.name}"]))


REWRITINGS: dict[str, Callable[[Steps, RaggedSchedule], object]] = {
    "fuse_loops": _fuse_loops,
    "split_loop": _split_loop,
    "partition_loop": _cut,
    "reorder": lambda d, s: s.reorder(*reversed(d.nested(s))),
    "parallel": lambda d, s: s.parallel(d.serial(s)),
    "vectorize": lambda d, s: s.vectorize(d.loop(s, constant=True)),
    "unroll": lambda d, s: s.unroll(d.loop(s, constant=True)),
    "fuse_horizontally": lambda d, s: s.fuse_horizontally(*d.siblings(s)),
    "inline": lambda d, s: s.inline(d.tensor(s)),
    "cache_read": lambda d, s: s.cache_read(d.draw.choice(s.tensors), d.loop(s)),
    "hoist_loads": lambda d, s: s.hoist_loads(d.loop(s)),
    "simplify_guards": lambda d, s: s.simplify_guards(),
}
DECISIONS: dict[str, Callable[[Steps, RaggedSchedule], object]] = {
    "pad_loop": _pad_loop,
    "pad_dimension": _pad_dimension,
    "compute_at": _compute_at,
    "fuse_dimensions": _fuse_dimensions,
    "split_dimension": _split_dimension,
    "reorder_dimensions": _reorder_dimensions,
}
NEVER_REFUSED = ("simplify_guards", "hoist_loads")
"""What leaves a program as it is where it finds nothing to do."""
