"""From a scheduled model to a program: a correct, naive one of fully materialised loops (CORTEX, Listing 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cortex.ilir.loops import Cases, Unrolled, node_loops
from cortex.ilir.plan import Plan
from cortex.ilir.structure import StructureFunctions, structure_functions
from cortex.ra.base import Tensor
from cortex.ra.cases import CaseAnalysis
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case import Case
from cortex.ra.lower.decide import LEAF, Decisions, atoms, key
from cortex.ra.lower.inputs import Inputs, independent
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.translate import Point
from cortex.ra.lower.used import subjects, used_functions
from cortex.ra.model import Model
from cortex.ra.tensor import InputTensor
from ragged.ir.expr import Const, Expr
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import If, Stmt, block


@dataclass(frozen=True, slots=True)
class Choices:
    """How a recursion becomes loops.

    `batched` runs the nodes of one height together (dynamic batching), else one node after another; with
    `specialized`, leaves and inner nodes have nests of their own, else each node asks what it is; with `childless`
    that is so in a model that asks no node whether it is a leaf, too, and what leaves have of no children is left
    out; `hoisted` computes what depends on no child before the recursion. `unrolled` takes so many heights more in one
    step, each node after those below it.
    """

    batched: bool = False
    specialized: bool = False
    childless: bool = False
    hoisted: bool = False
    unrolled: int = 0


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and the parameters that it takes to be finite: products of them with zero are left out."""

    program: Program
    finite: frozenset[InputTensor]


def lower(model: Model, choices: Choices, name: str = "model") -> Lowered:
    """Return the program that runs `model` at every node of a batch of structures."""
    functions = structure_functions(scheduled_plan(model, choices))
    lowering = _Lowering(model, functions, choices)
    kernel = lowering.kernel()
    buffers = lowering.buffers.all()
    used = used_functions(functions.all(), functions.facts, kernel, buffers)
    facts = tuple(fact for fact in functions.facts if subjects(fact) <= used)
    declared = tuple(function for function in functions.all() if function in used)
    program = Program(name, declared, buffers, facts, (Stage(StageKind.KERNEL, kernel),))
    return Lowered(program, frozenset(lowering.finite | lowering.inputs.finite))


def scheduled_plan(model: Model, choices: Choices) -> Plan:
    """Return what the program asks of structures: what the model does, and the steps of an unrolled recursion."""
    return replace(model.plan(), unrolled=choices.unrolled)


@dataclass
class _Lowering:
    model: Model
    functions: StructureFunctions
    choices: Choices
    buffers: Buffers = field(init=False)
    inputs: Inputs = field(init=False)
    computed: Mapping[Tensor, frozenset[int]] = field(init=False)
    finite: set[InputTensor] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.buffers = Buffers(self.model, self.functions)
        self.computed = CaseAnalysis(self.model).computed
        hoisted = independent(self.model) if self.choices.hoisted else ()
        self.inputs = Inputs(self.model, self.functions, self.buffers, hoisted)

    def kernel(self) -> Stmt:
        if not self._splits():
            cases = Cases(lambda node: self.body(node, {}))
        else:
            cases = Cases(
                lambda node: self.body(node, {LEAF: True}),
                lambda node: self.body(node, {LEAF: False}),
            )
        choices, steps = self.choices, self.functions.steps
        recursion = node_loops(
            self.functions,
            cases,
            batched=choices.batched,
            specialized=choices.specialized or choices.childless,
            unrolled=None if steps is None else Unrolled(choices.unrolled, steps),
        )
        return block(self.inputs.stmts(), recursion)

    def _splits(self) -> bool:
        """Return whether leaves and inner nodes are two cases."""
        if self.choices.childless:
            return True
        everything = self._case(Const(0), {})
        conditions = (c for tensor in self.model.computes for c in everything.choices(tensor))
        return any(key(atom) == LEAF for condition in conditions for atom in atoms(condition))

    def _case(self, node: Expr, decisions: Decisions) -> Case:
        return Case(self.model, self.buffers, self.computed, self.inputs, node, decisions)

    def body(self, node: Expr, decisions: Decisions) -> Stmt:
        """Return what one node does in a case, asking for each condition that the case leaves open."""
        case = self._case(node, decisions)
        open_atom = case.undecided()
        if open_atom is None:
            stmts = case.stmts()
            self.finite |= case.zeros.finite
            return stmts
        nests = Nests(self.buffers, decisions, case.result, node)
        condition = nests.translator.expr(open_atom, Point(node))
        name = key(open_atom)
        return If(
            condition,
            self.body(node, {**decisions, name: True}),
            self.body(node, {**decisions, name: False}),
            open_atom.at,
        )
