"""The recursion schedule: the loops of a model's recursion (CORTEX section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cortex.ilir.plan import Plan
from cortex.ra.base import ModelTensor
from cortex.ra.batch_nodes import check_max_batch_nodes, default_max_batch_nodes
from cortex.ra.demands import distinguishes_leaves
from cortex.ra.expr import DenseReduce
from cortex.ra.given import require_model, require_tensor
from cortex.ra.lower import LoweredModel, LoweringOptions, hoistable, lower, scheduled_plan
from cortex.ra.model import Model
from cortex.ra.rewrite import Refactored, compute_once, refactor
from cortex.ra.specialize import branch_checks, check_counts, code, requested_checks, with_checks
from cortex.ra.structure import Dag
from cortex.ra.tabulate import affordable, check_tabulates, offer
from cortex.ra.tensor import Compute, IfThenElse, InputTensor
from cortex.ra.unroll import check_unrolls
from cortex.ra.walk import subexpressions
from ragged.errors import Location, ScheduleError
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rule_record import Refusal


class RecursionSchedule:
    """Scheduling decisions for one model's recursion, made in order; the given model is not changed.

    Initially nodes run one after another, children first, and each tests whether it is a leaf. `model` is the model as
    rewritten by the primitives so far: it prints, and `ra.evaluate` runs it.

    Example::

        s = ra.Schedule(model)
        s.specialize_if_else(body)
        print(s.lower())
    """

    def __init__(self, model: Model) -> None:
        self.model = require_model("Schedule", model)
        self._options = LoweringOptions()
        self._lowered: tuple[LoweringOptions, LoweredModel] | None = None
        self._log: tuple[str, ...] = ()
        self._current: dict[ModelTensor, ModelTensor] = {}
        self._finite: frozenset[InputTensor] = frozenset()
        self.refused: tuple[Refusal, ...] = ()  # what the default schedule tried

    def _apply(self, call: str, **changes: Any) -> None:
        """Change options by a primitive, and log its call."""
        self._options = replace(self._options, **changes)
        self._log += (f"s.{call}",)

    def _now(self, call: str, op: ModelTensor) -> ModelTensor:
        """Return what a tensor has become by the primitives so far."""
        return self._current.get(require_tensor(call, op), op)

    @property
    def batched(self) -> bool:
        """Whether nodes of one height run together."""
        return self._options.batched

    @property
    def specialized(self) -> bool:
        """Whether leaves have separate loops."""
        return self._options.specialized

    def dynamic_batch(self, max_batch_nodes: int | None = None) -> None:
        """Run the nodes of one height together, height by height (CORTEX section 3.1, dynamic batching).

        A level has at most `max_batch_nodes` inner nodes, so that its temporaries stay in a cache; None sets no limit.
        GPUs and unrolled recursions ignore the limit. `ScheduleError` if nodes are batched already, or for an illegal
        limit.
        """
        at = Location.capture()
        if self._options.batched:
            raise _repeated("dynamic_batch: the nodes are batched")
        check_max_batch_nodes(max_batch_nodes, at)
        argument = "" if max_batch_nodes is None else f"max_batch_nodes={max_batch_nodes}"
        self._apply(f"dynamic_batch({argument})", batched=True, max_batch_nodes=max_batch_nodes)

    def specialize_if_else(self, branch: ModelTensor) -> None:
        """Separate the loops of the nodes on each side of a branch, instead of a test at each node.

        `branch` is a tensor made by `if_then_else`. The parts of its condition that `specialize` accepts are
        specialized, in all branches on the same conditions. `ScheduleError` if there are none, or they are specialized
        already.
        """
        branch = self._now("specialize_if_else", branch)
        name = self.model.names.get(branch, branch.name)
        at = Location.capture()
        options = with_checks(self._options, branch_checks(self.model, branch, at), branch=True)
        check_counts(self.model, self._options, options, f"specialize_if_else: '{name}'", at)
        self._options = options
        self._log += (f"s.specialize_if_else({name})",)

    def specialize(self, condition: Callable[..., Any]) -> None:
        """Separate the loops of the nodes at which a condition holds from those of other nodes.

        `condition` takes a node and returns comparisons of `ra.num_children(n)`, or of a scalar integer payload, with a
        number, and `ra.isleaf(n)`, combined by `&`, `|` and `~`. In each resulting class of nodes, conditions that
        follow are decided and integers that are known are constants, as indices and as bounds of loops over children.
        Nodes of one level are sorted by class; where nodes are not batched, or unrolled, each node is tested once.

        Example::

            s.specialize(lambda n: kind[n] == 3)

        Raises:
            ScheduleError: it is no such condition, is specialized already, or would change nothing.
        """
        at = Location.capture()
        atoms = requested_checks(self.model, condition, at)
        options = with_checks(self._options, atoms, branch=False)
        check_counts(self.model, self._options, options, "specialize: the condition", at)
        self._options = options
        self._log += (f"s.specialize(lambda n: {code(atoms)})",)

    def specialize_leaves(self) -> None:
        """Separate the loops of leaves, without the sums over their children.

        A sum over no children is zero, and so is its product with a parameter: neither is computed (CORTEX section 4.3,
        constant propagation). The parameters of such products must be finite, which is checked when they are bound: see
        `finite`. `ScheduleError` if leaves are specialized already.
        """
        if self._options.childless:
            raise _repeated("specialize_leaves: leaves are specialized")
        self._apply("specialize_leaves()", childless=True)

    def hoist_inputs(self) -> None:
        """Compute reductions that depend on no child before the recursion, at all nodes together.

        Leaves of trees with separate loops compute them there: they are one level already. Values that are zero at
        nodes without a payload (`where(word[n] >= 0, ...)`) are computed only at nodes with it; parameters must be
        finite as in `specialize_leaves`. `ScheduleError` if inputs are hoisted already, or the model has none.
        """
        if self._options.hoisted:
            raise _repeated("hoist_inputs: inputs are hoisted")
        if not hoistable(self.model, self._options):
            raise ScheduleError(
                "hoist_inputs: there is nothing to hoist",
                at=Location.capture(),
                because="every reduction of the model depends on a node's children",
            )
        self._apply("hoist_inputs()", hoisted=True)

    def hoist_constants(self) -> None:
        """Compute values that are equal at all nodes of a case once, at binding (CORTEX section 4.3).

        These depend on parameters alone: the initial state of all leaves of a class, or a part of an expression, as
        `exp(W[i, j])`, of no more elements than the largest tensor that it reads. Apply it after specializing, which
        determines the cases. `ScheduleError` if constants are hoisted already, or there are none.
        """
        if self._options.constants:
            raise _repeated("hoist_constants: constants are hoisted")
        options = replace(self._options, constants=True)
        lowered = lower(self.model, options)
        if to_text(lowered.program) == to_text(self.lower()):
            raise ScheduleError(
                "hoist_constants: there is nothing to hoist",
                at=Location.capture(),
                because="what is computed at a node depends on the node, in each case that is specialized",
            )
        self._options, self._lowered = options, (options, lowered)
        self._log += ("s.hoist_constants()",)

    def tabulate(self, op: ModelTensor) -> None:
        """Replace the computation of `op` by a lookup in a table over an integer payload.

        `op` depends on parameters and on one payload, which has a known range because it indexes a parameter: for
        example the product of a weight matrix with the embedding of a word. The table is filled when parameters are
        bound, with a row for nodes without the payload where there may be any; results keep their bits. `ScheduleError`
        if `op` is not such a compute, is tabulated already, only reads a parameter, or its table would exceed 4 GiB.
        """
        op = self._now("tabulate", op)
        compute = check_tabulates(self.model, op, self._options.tables, Location.capture())
        self._apply(f"tabulate({self.model.names[op]})", tables=(*self._options.tables, compute))

    def refactor(self, op: ModelTensor) -> None:
        """Let each node compute for its parent the part of `op` that depends on it (CORTEX section 3.1).

        The part of `op` that depends on one child becomes a state of that child. A product with a sum over the children
        becomes a sum of products; their parameters must be finite as in `specialize_leaves`. `model` becomes the
        rewritten model; tensors of the previous one may still be named. `ScheduleError` over a Dag, or if `op` is not a
        compute, reads no child, reads more than one child knows, or is not linear in the sum over the children.
        """
        self._move("refactor", op, refactor(self.model, self._now("refactor", op)))

    def compute_once(self, op: ModelTensor) -> None:
        """Let each node compute once the part of `op` that its parents take from it.

        A value of one child alone, such as the product of a matrix with its state, is the same at all parents: it
        becomes a state of the child. Results keep their bits; over a Dag it saves work. `model` becomes the rewritten
        model, as after `refactor`. `ScheduleError` if `op` is not a compute, or does not read exactly one child's
        results.
        """
        self._move("compute_once", op, compute_once(self.model, self._now("compute_once", op)))

    def _move(self, primitive: str, op: ModelTensor, done: Refactored) -> None:
        """Continue with the model in which `op` has moved."""
        self._log += (f"s.{primitive}({self.model.names[self._current.get(op, op)]})",)
        moved = dict(done.current)
        self._current = {old: moved.get(now, now) for old, now in self._current.items()} | moved
        self.model = done.model
        tables = (self._current.get(each, each) for each in self._options.tables)
        self._options = replace(self._options, tables=tuple(t for t in tables if isinstance(t, Compute)))
        self._finite |= done.finite
        self._lowered = None

    def unroll(self, depth: int) -> None:
        """Process a node and its descendants down to `depth` in one step (CORTEX section 3.1, unrolling).

        A step covers `depth` + 1 heights of inner nodes: nodes with parents in later steps are independent, and
        each first computes its descendants in the step. Independence is proven from the facts `Layered` and `Descends`,
        which each call checks. `ScheduleError` over a Dag, for an illegal depth, or if nodes are not batched or
        unrolled already.
        """
        check_unrolls(self.model, self._options, depth, Location.capture())
        self._apply(f"unroll({depth})", unrolled=depth)

    def plan(self, *, roots_alone: bool = False) -> Plan:
        """Return the program's requirements on structures; `roots_alone` is as for `lower`."""
        return scheduled_plan(self.model, replace(self._options, roots_alone=roots_alone))

    def lower(self, *, roots_alone: bool = False) -> Program:
        """Return the program: loops over arrays, every temporary materialised (CORTEX, Listing 2).

        Its results have a row for each node, or with `roots_alone` for each root.
        """
        if roots_alone:
            return lower(self.model, replace(self._options, roots_alone=True)).program
        return self._lower().program

    @property
    def finite(self) -> frozenset[str]:
        """The parameters that must hold neither infinities nor NaN: their products with zero are omitted."""
        return frozenset(tensor.name for tensor in self._lower().finite | self._finite)

    def _lower(self) -> LoweredModel:
        if self._lowered is None or self._lowered[0] != self._options:
            self._lowered = (self._options, lower(self.model, self._options))
        return self._lowered[1]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the program's buffers with a row for each value of a payload."""
        return self._lower().tables

    @property
    def offer(self) -> str | None:
        """A comment on further tables and their bytes; None if there are none."""
        return offer(self.model, self._options.tables)

    def log(self) -> str:
        """Return the primitives applied so far as code for a new schedule `s`."""
        return "\n".join(self._log)


def default_schedule(
    model: Model, table_bytes: int = 0, *, hoist_inputs: bool = True, max_batch_nodes: int | None = None
) -> RecursionSchedule:
    """Return the schedule that `compile` uses for a model: batched, leaves specialized, inputs hoisted.

    `max_batch_nodes` defaults to `default_max_batch_nodes`. Over a Dag, reductions of one child's result are computed
    once for each node. Worthwhile tables are used as far as they take at most `table_bytes` together.
    """
    schedule = RecursionSchedule(model)
    if isinstance(model.structure, Dag):
        for tensor in model.computes:
            parts = subexpressions(tensor.body) if isinstance(tensor, Compute) else ()
            if any(isinstance(part, DenseReduce) for part in parts):
                _attempt(schedule, schedule.compute_once, tensor)  # refused where it is not of one child
    schedule.dynamic_batch(default_max_batch_nodes(model) if max_batch_nodes is None else max_batch_nodes)
    for tensor in reversed(model.computes):  # outer branches first: what they rule out is no class
        if isinstance(tensor, IfThenElse):
            # Another branch may ask the same, and some conditions no schedule can specialize.
            _attempt(schedule, schedule.specialize_if_else, tensor)
    if distinguishes_leaves(model):
        schedule.specialize_leaves()
    for compute in affordable(model, table_bytes):
        schedule.tabulate(compute)
    for hoist in (schedule.hoist_constants, *((schedule.hoist_inputs,) if hoist_inputs else ())):
        _attempt(schedule, hoist)  # refused where a model has none
    return schedule


def _repeated(what: str) -> ScheduleError:
    return ScheduleError(f"{what} already", at=Location.capture(), fix="ask for it once")


def _attempt(schedule: RecursionSchedule, primitive: Callable[..., None], *tensors: ModelTensor) -> None:
    """Apply a primitive of a schedule, or add to `refused` why it cannot be applied."""
    try:
        primitive(*tensors)
    except ScheduleError as error:
        step = f"s.{primitive.__name__}({', '.join(schedule.model.names.get(each, each.name) for each in tensors)})"
        schedule.refused += (Refusal.of(step, error),)
