"""From a scheduled model to a program: a correct, naive one of fully materialised loops (CORTEX, Listing 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.loops import Cases, NodeBody, Unrolled, class_loops, node_loops
from cortex.ilir.plan import Plan
from cortex.ilir.structure import StructureFunctions, structure_functions
from cortex.ra.base import ModelTensor
from cortex.ra.cases import CaseAnalysis
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case import Case
from cortex.ra.lower.case_facts import LEAF, CaseFacts, asks_for_leaves, condition_key, node_values
from cortex.ra.lower.constants import Constants, same_everywhere
from cortex.ra.lower.inputs import Inputs, independent, without
from cortex.ra.lower.keys import keys_of
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.roots import gathered_roots
from cortex.ra.lower.tables import LookupTables
from cortex.ra.lower.translate import Point
from cortex.ra.lower.used import used_functions
from cortex.ra.model import Model
from cortex.ra.tensor import Compute, InputTensor
from ragged.ir.expr import Binary, Call, Const, Expr
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import If, Stmt, block


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """How a recursion becomes loops.

    `batched` runs the nodes of one height together (dynamic batching), else one node after another; with
    `specialized`, leaves and inner nodes have nests of their own, else each node asks what it is; with `childless`
    that is so in a model that asks no node whether it is a leaf, too, and what leaves have of no children is left
    out; `hoisted` computes what depends on no child before the recursion. `unrolled` takes so many heights more in one
    step, each node after those below it. `checks`, each `==` or `>=`, are specialized: nodes that differ in what
    matters of them have nests of their own. `constants` computes what is the same at all nodes of a case when
    parameters are bound. `tables` are the computes that are looked up in tables, which are made then too.
    With `roots_alone` the results are those of roots, and gathered last. A batch has at most `max_batch_nodes` inner
    nodes.
    """

    batched: bool = False
    specialized: bool = False
    childless: bool = False
    hoisted: bool = False
    unrolled: int = 0
    checks: tuple[Comparison, ...] = ()
    constants: bool = False
    tables: tuple[Compute, ...] = ()
    roots_alone: bool = False
    max_batch_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class LoweredModel:
    """A program, and the parameters that it takes to be finite: products of them with zero are left out.

    `tables` are the names of its buffers that have a row for each value of a payload.
    """

    program: Program
    finite: frozenset[InputTensor]
    tables: tuple[str, ...]


def lower(model: Model, options: LoweringOptions, name: str = "model") -> LoweredModel:
    """Return the program that runs `model` at every node of a batch of structures."""
    functions = structure_functions(scheduled_plan(model, options))
    lowering = _ModelLowering(model, functions, options)
    kernel = lowering.kernel()
    buffers = lowering.buffers.all()
    used = used_functions(functions.all(), functions.facts, kernel, buffers)
    if {functions.child_begin, functions.batch_begin} <= used:  # how much room the edges of a batch need
        used |= {functions.batch_edges, functions.widest_edges}
    if functions.storage is not None:  # for `recycle_storage`, where that can be
        used |= {*functions.storage.all()}
    facts = tuple(fact for fact in functions.facts if fact.required <= used)
    declared = tuple(function for function in functions.all() if function in used)
    bound = (*lowering.constants.parts, *lowering.tables.parts)
    stages = (Stage(StageKind.BIND, block(*bound)),) if bound else ()
    program = Program(name, declared, buffers, facts, (*stages, Stage(StageKind.KERNEL, kernel)))
    finite = frozenset(lowering.finite | lowering.inputs.finite)
    return LoweredModel(program, finite, lowering.tables.names())


def table_bytes(model: Model, computes: Iterable[Compute]) -> int:
    """Return the bytes of the tables of some computes, and of what these are made with and that is kept."""
    tables = _ModelLowering(
        model, structure_functions(model.plan()), LoweringOptions(tables=tuple(computes))
    ).tables
    for compute in tables.keys:
        tables.buffer(compute)
    return tables.bytes


def scheduled_plan(model: Model, options: LoweringOptions) -> Plan:
    """Return what the program asks of structures: what the model does, the steps of an unrolled recursion, classes."""
    recycled = options.roots_alone and options.batched and not options.unrolled
    widest = None if options.unrolled else options.max_batch_nodes
    plan = replace(model.plan(), unrolled=options.unrolled, recycled=recycled, widest=widest)
    if not options.batched or not options.checks:
        return plan
    return replace(plan, classes=_ModelLowering(model, structure_functions(plan), options).classes())


def hoistable(model: Model, options: LoweringOptions) -> tuple[Compute, ...]:
    """Return the computes that can be done before the recursion: what classes or constants take over is not of them."""
    asked = {check.payload for check in options.checks}
    computes = without(independent(model, options.tables), asked, options.tables)
    everywhere = same_everywhere()
    return tuple(c for c in computes if not options.constants or not everywhere.holds(c))


def count_cases(model: Model, options: LoweringOptions, most: int) -> int:
    """Return for how many kinds of nodes a schedule's checks have something done of its own, or `most` if for more."""
    lowering = _ModelLowering(model, structure_functions(model.plan()), options)
    kinds = (True, False) if lowering.splits() else (None,)
    return sum(1 for _ in islice(chain.from_iterable(map(lowering.cases, kinds)), most))


@dataclass
class _ModelLowering:
    model: Model
    functions: StructureFunctions
    options: LoweringOptions
    buffers: Buffers = field(init=False)
    constants: Constants = field(init=False)
    tables: LookupTables = field(init=False)
    inputs: Inputs = field(init=False)
    computed: Mapping[ModelTensor, frozenset[int]] = field(init=False)
    finite: set[InputTensor] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.buffers = Buffers(self.model, self.functions, self.options.roots_alone)
        self.computed = CaseAnalysis(self.model).computed
        self.constants = Constants(self.buffers)
        keys = {each: keys_of(self.model, each, self.computed[each]) for each in self.options.tables}
        self.tables = LookupTables(self.buffers, self.constants, keys)
        hoisted = hoistable(self.model, self.options) if self.options.hoisted else ()
        self.inputs = Inputs(self.model, self.functions, self.buffers, hoisted, self.constants, self.tables)

    def kernel(self) -> Stmt:
        recursion = self.by_class() if self.options.batched and self.options.checks else self.by_leaf()
        return block(self.inputs.stmts(), recursion, *gathered_roots(self.functions, self.buffers.roots))

    def by_leaf(self) -> Stmt:
        """Return the loops over nodes in which leaves and inner nodes are told apart, if at all."""
        if not self.splits():
            cases = Cases(self.nodes(self.start(None)))
        else:
            cases = Cases(self.nodes(self.start(True)), self.nodes(self.start(False)))
        return node_loops(
            self.functions,
            cases,
            batched=self.options.batched,
            specialized=self.options.specialized or self.options.childless,
            unrolled=self.unrolled,
        )

    def by_class(self) -> Stmt:
        """Return the loops over nodes in which each case of the specialized checks has its own."""
        leaves = [self.nodes(case) for case in self.cases(True)]
        inner = [self.nodes(case) for case in self.cases(False)]
        return class_loops(self.functions, leaves, inner, self.unrolled)

    @property
    def unrolled(self) -> Unrolled | None:
        """The steps of an unrolled recursion."""
        steps = self.functions.steps
        return None if steps is None else Unrolled(self.options.unrolled, steps)

    def splits(self) -> bool:
        """Return whether leaves and inner nodes are two cases."""
        if self.options.childless or any(asks_for_leaves(check) for check in self.options.checks):
            return True
        everything = self._case(Const(0), CaseFacts())
        return any(
            condition_key(atom) == LEAF
            for tensor in self.model.computes
            for atom in everything.choices(tensor)
        )

    def start(self, leaf: bool | None) -> CaseFacts:
        """Return what is known of leaves, of inner nodes, or of all nodes, before anything is asked.

        What integers they have is followed only where checks are specialized.
        """
        answers: dict[Hashable, bool] = {} if leaf is None else {LEAF: leaf}
        return CaseFacts(answers, node_values(self.model.plan(), leaf) if self.options.checks else {})

    def classes(self) -> tuple[NodeClass, ...]:
        """Return the classes that nodes of one batch are sorted into; none where there is nothing to sort."""
        leaves, inner = tuple(self.cases(True)), tuple(self.cases(False))
        if len(leaves) == len(inner) == 1:
            return ()
        return tuple(case.node_class() for case in (*leaves, *inner))

    def cases(self, leaf: bool | None) -> Iterator[CaseFacts]:
        """Return what is known in each case of leaves, of inner nodes, or of all: inner ones of a step are one."""
        start = self.start(leaf)
        return iter((start,)) if self.options.unrolled and not leaf else self._explored(start)

    def _explored(self, known: CaseFacts) -> Iterator[CaseFacts]:
        check = self.open_check(self._case(Const(0), known))
        if check is None:
            yield known
            return
        for answer in (True, False):
            yield from self._explored(known.compared(check, answer))

    def open_check(self, case: Case) -> Comparison | None:
        """Return a specialized check that a case leaves open and that matters in it, or None."""
        for check in self.options.checks:
            if case.known.answer(check) is None and case.matters(check):
                return check
        return None

    def nodes(self, known: CaseFacts) -> NodeBody:
        """Return what is done at each node of a case."""
        return lambda node: self.body(node, known)

    def _case(self, node: Expr, known: CaseFacts) -> Case:
        constants = self.constants if self.options.constants else None
        return Case(self.model, self.buffers, self.computed, self.inputs, node, known, constants)

    def body(self, node: Expr, known: CaseFacts) -> Stmt:
        """Return what one node does in a case, asking for each condition that the case leaves open."""
        case = self._case(node, known)
        check = self.open_check(case)
        if check is not None:
            then, orelse = (self.body(node, known.compared(check, answer)) for answer in (True, False))
            return If(self.compared(check, node), then, orelse)
        atom = case.undecided()
        if atom is None:
            stmts = case.stmts()
            self.finite |= case.zeros.finite
            return stmts
        condition = Nests(self.buffers, known, case.result, node).translator.expr(atom, Point(node))
        then, orelse = (self.body(node, known.given(atom, answer)) for answer in (True, False))
        return If(condition, then, orelse, atom.at)

    def compared(self, check: Comparison, node: Expr) -> Expr:
        """Return a comparison as it is asked of one node."""
        functions = self.functions
        asked = functions.num_children if check.payload is None else functions.payloads[check.payload]
        return Binary(check.op, Call(asked, (node,)), Const(check.value))
