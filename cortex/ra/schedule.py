"""The recursion schedule: how a model's recursion becomes loops (CORTEX section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cortex.ilir.plan import Plan
from cortex.ra.base import ModelTensor
from cortex.ra.demands import distinguishes_leaves
from cortex.ra.expr import DenseReduce, subexpressions
from cortex.ra.lower import LoweredModel, LoweringOptions, hoistable, lower, scheduled_plan
from cortex.ra.model import Model
from cortex.ra.rewrite import Refactored, compute_once, refactor
from cortex.ra.specialize import added, asked, branch_checks, check_counts, code
from cortex.ra.structure import Dag
from cortex.ra.tabulate import affordable, check_tabulates, offer
from cortex.ra.tensor import Compute, IfThenElse, InputTensor
from cortex.ra.unroll import check_unrolls
from cortex.ra.widest import widest_batch
from ragged.errors import Location, ScheduleError
from ragged.ir.printer import to_text
from ragged.ir.program import Program


class RecursionSchedule:
    """Steps of a schedule of one model's recursion, taken one after another; the given model is not changed.

    As it starts, nodes run one after another, children first, and each asks whether it is a leaf. `model` is the model
    as the steps so far have rewritten it: it prints, and `ra.evaluate` runs it.

    Example::

        s = ra.Schedule(model)
        s.dynamic_batch()
        s.specialize_if_else(body)
        print(s.lower())
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._options = LoweringOptions()
        self._lowered: tuple[LoweringOptions, LoweredModel] | None = None
        self._log: list[str] = []
        self._current: dict[ModelTensor, ModelTensor] = {}
        self._finite: frozenset[InputTensor] = frozenset()

    @property
    def batched(self) -> bool:
        """Whether nodes of one height run together."""
        return self._options.batched

    @property
    def specialized(self) -> bool:
        """Whether leaves have loops of their own."""
        return self._options.specialized

    def dynamic_batch(self, max_batch_nodes: int | None = None) -> None:
        """Run the nodes of one height together, height by height (CORTEX section 3.1, dynamic batching).

        Of a height with more inner nodes than `max_batch_nodes`, at most so many run together, and then others: what is
        computed at them takes less memory, and is still in a cache when it is read. With None all of them do, and they
        do on a GPU, and in an unrolled recursion, whose steps are of whole heights.

        Raises:
            ScheduleError: it was asked for before, or `max_batch_nodes` is no number from 1 up.
        """
        at = Location.capture()
        if self._options.batched:
            raise ScheduleError("dynamic_batch: the nodes are batched already", at=at, fix="ask for it once")
        if max_batch_nodes is not None and (type(max_batch_nodes) is not int or max_batch_nodes < 1):
            raise ScheduleError(
                f"dynamic_batch: max_batch_nodes={max_batch_nodes!r} is no number of nodes",
                at=at,
                fix="a whole number from 1 on, or None for any number",
            )
        self._options = replace(self._options, batched=True, max_batch_nodes=max_batch_nodes)
        argument = "" if max_batch_nodes is None else f"max_batch_nodes={max_batch_nodes}"
        self._log.append(f"s.dynamic_batch({argument})")

    def specialize_if_else(self, branch: ModelTensor) -> None:
        """Give the nodes of each side of a branch loops of their own instead of a check at each node.

        `branch` is a tensor of the model made by `if_then_else`. Of its condition, all is specialized that `specialize`
        takes; all branches on the same conditions are specialized with it.

        Raises:
            ScheduleError: `branch` is no such tensor, is not of this model, asks nothing that can be specialized, or is
                specialized already.
        """
        branch = self._current.get(branch, branch)
        name = self.model.names.get(branch, branch.name)
        at = Location.capture()
        checks = branch_checks(self.model, branch, at)
        options = added(self._options, checks, branch=True)
        check_counts(self.model, self._options, options, f"specialize_if_else: '{name}'", at)
        self._options = options
        self._log.append(f"s.specialize_if_else({name})")

    def specialize(self, condition: Callable[..., Any]) -> None:
        """Give the nodes at which a condition holds loops of their own, and the others theirs.

        `condition` takes a node and returns what the model asks of it, in a branch, in `ra.where` or by an index:
        comparisons of `ra.num_children(n)`, or of a payload that is one integer, with a number, and `ra.isleaf(n)`,
        joined by `&`, `|` and `~`. In each class of nodes that they tell apart, what they decide is decided: branches
        are gone, what equals a number is that number, as an index and as a bound of loops over children. Nodes of one
        batch are sorted by class. Where nodes are not batched, or unrolled, the check is made once at each node.

        Example::

            s.specialize(lambda n: kind[n] == 3)

        Raises:
            ScheduleError: it is no such condition, is specialized already, or would change nothing.
        """
        at = Location.capture()
        atoms = asked(self.model, condition, at)
        options = added(self._options, atoms, branch=False)
        check_counts(self.model, self._options, options, "specialize: the condition", at)
        self._options = options
        self._log.append(f"s.specialize(lambda n: {code(atoms)})")

    def specialize_leaves(self) -> None:
        """Give leaves loops of their own in which what comes of their having no children is left out.

        A sum over no children is zero, and so is its product with a parameter: neither is computed (CORTEX section
        4.3, constant propagation). The parameters of such products have to be finite, which binding them checks:
        see `finite`.

        Raises:
            ScheduleError: it was asked for before.
        """
        if self._options.childless:
            raise ScheduleError(
                "specialize_leaves: leaves are specialized already",
                at=Location.capture(),
                fix="ask for it once",
            )
        self._options = replace(self._options, childless=True)
        self._log.append("s.specialize_leaves()")

    def hoist_inputs(self) -> None:
        """Compute what reduces and depends on no child before the recursion, at all nodes together.

        Leaves of trees that have loops of their own compute it there: they are all together as it is. What is zero at
        another node that does not carry a payload (`where(word[n] >= 0, ...)`) is computed only at those that do;
        parameters have to be finite as in `specialize_leaves`.

        Raises:
            ScheduleError: it was asked for before, or the model has nothing of the kind.
        """
        at = Location.capture()
        if self._options.hoisted:
            raise ScheduleError("hoist_inputs: inputs are hoisted already", at=at, fix="ask for it once")
        if not hoistable(self.model, self._options):
            raise ScheduleError(
                "hoist_inputs: there is nothing to hoist",
                at=at,
                because="every reduction of the model depends on a node's children",
            )
        self._options = replace(self._options, hoisted=True)
        self._log.append("s.hoist_inputs()")

    def hoist_constants(self) -> None:
        """Compute what is the same at all nodes of a case once, when parameters are bound (CORTEX section 4.3).

        That is what depends on parameters alone: a state that all leaves of a kind start from, say. It follows from
        what is specialized which nodes are a case, so this comes after.

        Raises:
            ScheduleError: it was asked for before, or there is nothing of the kind.
        """
        at = Location.capture()
        if self._options.constants:
            raise ScheduleError(
                "hoist_constants: constants are hoisted already", at=at, fix="ask for it once"
            )
        options = replace(self._options, constants=True)
        lowered = lower(self.model, options)
        if to_text(lowered.program) == to_text(self.lower()):
            raise ScheduleError(
                "hoist_constants: there is nothing to hoist",
                at=at,
                because="what is computed at a node depends on the node, in each case that is specialized",
            )
        self._options, self._lowered = options, (options, lowered)
        self._log.append("s.hoist_constants()")

    def tabulate(self, op: ModelTensor) -> None:
        """Look `op` up in a table with a row for each value of an integer that nodes carry, and no longer compute it.

        It depends at a node on parameters and on one payload, whose values are known because it indexes a parameter:
        the product of a weight matrix with the embedding of a word, say. The table is made when parameters are bound,
        with a row for nodes that carry none where there may be such. Each row is computed like what it stands for, and
        has the same bits.

        Raises:
            ScheduleError: `op` is no compute of the model, is in a table already, depends on children or on anything
                but one such payload, only looks a parameter up, or its table would be larger than 4 GiB.
        """
        op = self._current.get(op, op)
        compute = check_tabulates(self.model, op, self._options.tables, Location.capture())
        self._options = replace(self._options, tables=(*self._options.tables, compute))
        self._log.append(f"s.tabulate({self.model.names[op]})")

    def refactor(self, op: ModelTensor) -> None:
        """Let each node compute for its parent what `op` takes from a child (CORTEX section 3.1, refactoring).

        The recursion is cut after `op` and no longer before it: its part of one child becomes a state that the child
        leaves for its parent, right where the child's own result is at hand. A product with a sum over the children
        becomes a sum of products, whose parameters have to be finite as in `specialize_leaves`. `model` is the
        rewritten model from here on; tensors of the one before may still be named.

        Raises:
            ScheduleError: the model runs over a Dag; `op` is no compute of it, takes in nothing that a child returned,
                or more than one child knows, or is not linear in the sum over the children.
        """
        self._move("refactor", op, refactor(self.model, self._current.get(op, op)))

    def compute_once(self, op: ModelTensor) -> None:
        """Let each node compute once what `op` takes from it at each of its parents.

        What is of one child alone, the product of a matrix with its state say, is the same at all parents: it becomes a
        state that the child leaves for them. Results keep their bits. Over a Dag, where nodes have several parents, it
        is less work; a node without parents computes it too. `model` is the rewritten model from here on, as after
        `refactor`.

        Raises:
            ScheduleError: `op` is no compute of the model, takes in nothing that a child returned, or takes in more
                than one child's results: the node's own inputs, or the sum over the children.
        """
        self._move("compute_once", op, compute_once(self.model, self._current.get(op, op)))

    def _move(self, primitive: str, op: ModelTensor, done: Refactored) -> None:
        """Go on with the model in which `op` has moved."""
        self._log.append(f"s.{primitive}({self.model.names[self._current.get(op, op)]})")
        self._current = {old: done.current.get(now, now) for old, now in self._current.items()} | dict(
            done.current
        )
        self.model = done.model
        tables = (self._current.get(each, each) for each in self._options.tables)
        self._options = replace(self._options, tables=tuple(t for t in tables if isinstance(t, Compute)))
        self._finite |= done.finite
        self._lowered = None

    def unroll(self, depth: int) -> None:
        """Take a node and its descendants down to `depth` in one step (CORTEX section 3.1, unrolling).

        A step is `depth` + 1 heights of inner nodes and no longer one: all nodes whose parents are in later steps are
        independent, and each first computes the nodes of the step below it, so that what these return is read right
        where it was made. There are that many times fewer steps. That the tops do not depend on each other is proven
        from two facts, `Layered` and `Descends`, which each call checks.

        Raises:
            ScheduleError: the model runs over a Dag, `depth` is no number from 1 up, the nodes are not batched, or are
                unrolled already.
        """
        check_unrolls(self.model, self._options, depth, Location.capture())
        self._options = replace(self._options, unrolled=depth)
        self._log.append(f"s.unroll({depth})")

    def plan(self, *, roots_alone: bool = False) -> Plan:
        """Return what the program asks of structures: what the model does, and the arrays that the schedule reads.

        `roots_alone` is as for `lower`.
        """
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
        """The parameters that must hold neither infinities nor NaN: products of them with zero are left out."""
        return frozenset(tensor.name for tensor in self._lower().finite | self._finite)

    def _lower(self) -> LoweredModel:
        if self._lowered is None or self._lowered[0] != self._options:
            self._lowered = (self._options, lower(self.model, self._options))
        return self._lowered[1]

    @property
    def tables(self) -> tuple[str, ...]:
        """The buffers of the program that have a row for each value of a payload."""
        return self._lower().tables

    @property
    def offer(self) -> str | None:
        """What else could be in tables and how large they would be, as a comment; None if there is nothing."""
        return offer(self.model, self._options.tables)

    def log(self) -> str:
        """Return the steps so far as code that repeats them on a new schedule `s`."""
        return "\n".join(self._log)


def default_schedule(
    model: Model, table_bytes: int = 0, *, hoist_inputs: bool = True, max_batch_nodes: int | None = None
) -> RecursionSchedule:
    """Return the schedule that `compile` takes where it is given a model: batched, leaves specialized, inputs first.

    Batches have no more than `max_batch_nodes` nodes, or than `widest_batch` says.
    Over a Dag, what reduces and takes in one child alone is computed once for each node, and not for each of its
    parents. What is worth a table is in one as far as all tables take no more than `table_bytes`. Inputs are first
    where there are any, unless `hoist_inputs` says otherwise.
    """
    schedule = RecursionSchedule(model)
    if isinstance(model.structure, Dag):
        for tensor in model.computes:
            if isinstance(tensor, Compute) and _reduces(tensor):
                with suppress(ScheduleError):  # what is not of one child
                    schedule.compute_once(tensor)
    schedule.dynamic_batch(widest_batch(model) if max_batch_nodes is None else max_batch_nodes)
    for tensor in model.computes:
        if isinstance(tensor, IfThenElse):
            # An earlier branch may ask the same, and some conditions no schedule can specialize.
            with suppress(ScheduleError):
                schedule.specialize_if_else(tensor)
    if distinguishes_leaves(model):
        schedule.specialize_leaves()
    for compute in affordable(model, table_bytes):
        schedule.tabulate(compute)
    for hoist in (schedule.hoist_constants, *((schedule.hoist_inputs,) if hoist_inputs else ())):
        with suppress(ScheduleError):  # where a model has none
            hoist()
    return schedule


def _reduces(compute: Compute) -> bool:
    return any(isinstance(part, DenseReduce) for part in subexpressions(compute.body))
