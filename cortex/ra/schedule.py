"""The recursion schedule: how a model's recursion becomes loops (CORTEX section 3.1)."""

from __future__ import annotations

from dataclasses import replace

from cortex.ilir.plan import Plan
from cortex.ra.base import Tensor
from cortex.ra.demands import distinguishes_leaves
from cortex.ra.lower import Choices, Lowered, independent, lower, scheduled_plan
from cortex.ra.lower.decide import LEAF, atoms, key
from cortex.ra.model import Model
from cortex.ra.rewrite import refactor
from cortex.ra.structure import Dag
from cortex.ra.tensor import IfThenElse, InputTensor
from ragged.errors import Location, ScheduleError
from ragged.ir.program import Program


class Schedule:
    """Choices about one model's recursion, made one after another; the model that it is given is not changed.

    As it starts, nodes run one after another, children first, and each asks whether it is a leaf. `model` is the model
    as the choices so far have rewritten it: it prints, and `ra.evaluate` runs it.

    Example::

        s = ra.Schedule(model)
        s.dynamic_batch()
        s.specialize_if_else(body)
        print(s.lower())
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._choices = Choices()
        self._lowered: tuple[Choices, Lowered] | None = None
        self._log: list[str] = []
        self._current: dict[Tensor, Tensor] = {}
        self._finite: frozenset[InputTensor] = frozenset()

    @property
    def batched(self) -> bool:
        """Whether nodes of one height run together."""
        return self._choices.batched

    @property
    def specialized(self) -> bool:
        """Whether leaves have loops of their own."""
        return self._choices.specialized

    def dynamic_batch(self) -> None:
        """Run the nodes of one height together, height by height (CORTEX section 3.1, dynamic batching).

        Raises:
            ScheduleError: it was asked for before.
        """
        if self._choices.batched:
            raise ScheduleError(
                "dynamic_batch: the nodes are batched already", at=Location.capture(), fix="ask for it once"
            )
        self._choices = replace(self._choices, batched=True)
        self._log.append("s.dynamic_batch()")

    def specialize_if_else(self, branch: Tensor) -> None:
        """Give leaves and inner nodes loops of their own instead of a check at each node.

        `branch` is a tensor of the model made by `if_then_else` on `isleaf`; all branches on the same condition are
        specialized with it.

        Raises:
            ScheduleError: `branch` is no such tensor, is not of this model, or is specialized already.
        """
        branch = self._current.get(branch, branch)
        name = self.model.names.get(branch, branch.name)
        at = Location.capture()
        if branch not in self.model.computes:
            raise ScheduleError(f"specialize_if_else: '{name}' is not a tensor of this model", at=at)
        if not isinstance(branch, IfThenElse):
            raise ScheduleError(
                f"specialize_if_else: '{name}' has no branches",
                at=at,
                because="it was made by compute",
                fix="name a tensor that if_then_else made",
            )
        if not any(key(atom) == LEAF for atom in atoms(branch.condition)):
            raise ScheduleError(
                f"specialize_if_else: the condition of '{name}' does not ask for leaves",
                at=at,
                because=f"it is {branch.condition.text()}, which does not split the numbering of nodes in two",
            )
        if self._choices.specialized:
            raise ScheduleError(f"specialize_if_else: '{name}' is specialized already", at=at)
        self._choices = replace(self._choices, specialized=True)
        self._log.append(f"s.specialize_if_else({name})")

    def specialize_leaves(self) -> None:
        """Give leaves loops of their own in which what comes of their having no children is left out.

        A sum over no children is zero, and so is its product with a parameter: neither is computed (CORTEX section
        4.3, constant propagation). The parameters of such products have to be finite, which binding them checks:
        see `finite`.

        Raises:
            ScheduleError: it was asked for before.
        """
        if self._choices.childless:
            raise ScheduleError(
                "specialize_leaves: leaves are specialized already",
                at=Location.capture(),
                fix="ask for it once",
            )
        self._choices = replace(self._choices, childless=True)
        self._log.append("s.specialize_leaves()")

    def hoist_inputs(self) -> None:
        """Compute what reduces and depends on no child before the recursion, at all nodes together.

        What is zero at a node that does not carry a payload (`where(word[n] >= 0, ...)`) is computed only at the
        nodes that do; parameters have to be finite as in `specialize_leaves`.

        Raises:
            ScheduleError: it was asked for before, or the model has nothing of the kind.
        """
        at = Location.capture()
        if self._choices.hoisted:
            raise ScheduleError("hoist_inputs: inputs are hoisted already", at=at, fix="ask for it once")
        if not independent(self.model):
            raise ScheduleError(
                "hoist_inputs: there is nothing to hoist",
                at=at,
                because="every reduction of the model depends on a node's children",
            )
        self._choices = replace(self._choices, hoisted=True)
        self._log.append("s.hoist_inputs()")

    def refactor(self, op: Tensor) -> None:
        """Let each node compute for its parent what `op` takes from a child (CORTEX section 3.1, refactoring).

        The recursion is cut after `op` and no longer before it: its part of one child becomes a state that the child
        leaves for its parent, right where the child's own result is at hand. A product with a sum over the children
        becomes a sum of products, whose parameters have to be finite as in `specialize_leaves`. `model` is the
        rewritten model from here on; tensors of the one before may still be named.

        Raises:
            ScheduleError: the model runs over a Dag; `op` is no compute of it, takes in nothing that a child returned,
                or more than one child knows, or is not linear in the sum over the children.
        """
        done = refactor(self.model, self._current.get(op, op))
        self._log.append(f"s.refactor({self.model.names[self._current.get(op, op)]})")
        self._current = {old: done.current.get(now, now) for old, now in self._current.items()} | dict(
            done.current
        )
        self.model = done.model
        self._finite |= done.finite
        self._lowered = None

    def unroll(self, depth: int) -> None:
        """Take a node and its descendants down to `depth` in one step (CORTEX section 3.1, unrolling).

        A step is `depth` + 1 heights of inner nodes and no longer one: all nodes whose parents are in later steps are
        independent, and each first computes the nodes of the step below it, so that what these return is read right
        where it was made. There are that many times fewer steps. The default schedule leaves such a kernel to one
        worker: that independence is known from the linearizer alone, and follows from no fact.

        Raises:
            ScheduleError: the model runs over a Dag, `depth` is no number from 1 up, the nodes are not batched, or are
                unrolled already.
        """
        at = Location.capture()
        if isinstance(self.model.structure, Dag):
            raise ScheduleError(
                "unroll: the model runs over a Dag",
                at=at,
                because="a node that several parents share would be computed again for each (CORTEX, section 3.1)",
                fix="unroll models over ra.Tree() and ra.Sequence()",
            )
        if type(depth) is not int or depth < 1:
            raise ScheduleError(
                f"unroll: {depth!r} is no depth",
                at=at,
                because="a step holds a node and so many levels of its descendants",
                fix="a whole number from 1 on",
            )
        if not self._choices.batched:
            raise ScheduleError(
                "unroll: the nodes are not batched",
                at=at,
                because="a step takes several batches at once, and nodes run one after another",
                fix="dynamic_batch first",
            )
        if self._choices.unrolled:
            raise ScheduleError(
                f"unroll: the recursion is unrolled by {self._choices.unrolled} already",
                at=at,
                fix="ask for it once, with the depth that you need",
            )
        self._choices = replace(self._choices, unrolled=depth)
        self._log.append(f"s.unroll({depth})")

    def plan(self) -> Plan:
        """Return what the program asks of structures: what the model does, and the arrays that the schedule reads."""
        return scheduled_plan(self.model, self._choices)

    def lower(self) -> Program:
        """Return the program: loops over arrays, every temporary materialised (CORTEX, Listing 2)."""
        return self._lower().program

    @property
    def finite(self) -> frozenset[str]:
        """The parameters that must hold neither infinities nor NaN: products of them with zero are left out."""
        return frozenset(tensor.name for tensor in self._lower().finite | self._finite)

    def _lower(self) -> Lowered:
        if self._lowered is None or self._lowered[0] != self._choices:
            self._lowered = (self._choices, lower(self.model, self._choices))
        return self._lowered[1]

    def log(self) -> str:
        """Return the choices made so far as code that makes them again on a new schedule `s`."""
        return "\n".join(self._log)


def default_schedule(model: Model) -> Schedule:
    """Return the schedule that `compile` takes where it is given a model: batched, leaves specialized, inputs first."""
    schedule = Schedule(model)
    schedule.dynamic_batch()
    for tensor in model.computes:
        if isinstance(tensor, IfThenElse) and any(key(atom) == LEAF for atom in atoms(tensor.condition)):
            schedule.specialize_if_else(tensor)
            break
    if distinguishes_leaves(model):
        schedule.specialize_leaves()
    if independent(model):
        schedule.hoist_inputs()
    return schedule
