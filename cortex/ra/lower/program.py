"""From a scheduled model to a correct, naive program with fully materialised temporaries (CORTEX, Listing 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.loops import Cases, NodeBody, Unrolled, class_loops, node_loops
from cortex.ilir.plan import Plan
from cortex.ilir.structure import StructureFunctions
from cortex.ilir.structure_functions import structure_functions
from cortex.ra.base import ModelTensor
from cortex.ra.cases import CaseAnalysis
from cortex.ra.lower.after import computed_after
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case import Case
from cortex.ra.lower.case_facts import LEAF, CaseFacts, condition_key, node_values, separates_leaves
from cortex.ra.lower.constants import Constants, uniform_everywhere
from cortex.ra.lower.inputs import Inputs, independent, without
from cortex.ra.lower.keys import keys_of
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.roots import computed_at_roots, gathered_roots
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
    """The options of lowering a recursion to loops.

    Attributes:
        batched: run the nodes of one height together (dynamic batching), else one node after another.
        specialized: separate the nests of leaves and inner nodes, else test each node.
        childless: as `specialized`, also in a model without such a test, and omit the sums over no children.
        hoisted: compute reductions that depend on no child before the recursion.
        unrolled: the number of further heights in one step, each node after its descendants.
        checks: comparisons, `==` or `>=`, by which nodes with different code have separate nests.
        constants: compute values that are equal at all nodes of a case when parameters are bound.
        tables: the computes that are looked up in tables, which are filled when parameters are bound.
        roots_alone: return the results of roots only, gathered last.
        max_batch_nodes: the maximum number of inner nodes of a batch.
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
    """A program, and the parameters that it assumes finite because products of them with zero are omitted.

    `tables` are the names of its buffers with a row for each value of a payload.
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
    if {
        functions.child_begin,
        functions.batch_begin,
    } <= used:  # extents of buffers with rows for edges
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
    """Return the bytes of the tables of some computes, and of their accumulators."""
    tables = _ModelLowering(
        model, structure_functions(model.plan()), LoweringOptions(tables=tuple(computes))
    ).tables
    for compute in tables.keys:
        tables.buffer(compute)
    return tables.bytes


def scheduled_plan(model: Model, options: LoweringOptions) -> Plan:
    """Return the program's requirements on structures: the model's, the steps of unrolling, and classes."""
    recycled = options.roots_alone and options.batched and not options.unrolled and not model.after
    widest = None if options.unrolled else options.max_batch_nodes
    plan = replace(model.plan(), unrolled=options.unrolled, recycled=recycled, widest=widest)
    if not options.batched or not options.checks:
        return plan
    return replace(plan, classes=_ModelLowering(model, structure_functions(plan), options).classes())


def hoistable(model: Model, options: LoweringOptions) -> tuple[Compute, ...]:
    """Return the computes that can be hoisted: those that depend on checks, or are constants, cannot."""
    asked = {check.payload for check in options.checks}
    computes = without(independent(model, options.tables), asked, options.tables)
    everywhere = uniform_everywhere()
    return tuple(c for c in computes if not options.constants or not everywhere.holds(c))


def count_cases(model: Model, options: LoweringOptions, most: int) -> int:
    """Return the number of cases that a schedule's checks lead to, at most `most`."""
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
        self.constants = Constants(self.buffers, self.options.constants)
        keys = {each: keys_of(self.model, each, self.computed[each]) for each in self.options.tables}
        self.tables = LookupTables(self.buffers, self.constants, keys)
        hoisted = hoistable(self.model, self.options) if self.options.hoisted else ()
        self.inputs = Inputs(self.model, self.functions, self.buffers, hoisted, self.constants, self.tables)

    def kernel(self) -> Stmt:
        recursion = self.by_class() if self.options.batched and self.options.checks else self.by_leaf()
        copies = gathered_roots(self.functions, self.buffers.roots)
        heads = computed_at_roots(self.model, self.buffers, self.constants.of_expr)
        after = computed_after(self.model, self.buffers, self.constants.of_expr)
        return block(self.inputs.stmts(), recursion, *copies, *heads, *after)

    def by_leaf(self) -> Stmt:
        """Return the loops over nodes with at most two cases: leaves and inner nodes."""
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
        """Return the loops over nodes with separate nests for each case of the checks."""
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
        if self.options.childless or any(separates_leaves(check) for check in self.options.checks):
            return True
        everything = self._case(Const(0), CaseFacts())
        return any(
            condition_key(atom) == LEAF
            for tensor in self.model.computes
            for atom in everything.choices(tensor)
        )

    def start(self, leaf: bool | None) -> CaseFacts:
        """Return what is known of leaves, of inner nodes, or of all nodes, before any check.

        Values of integers are tracked only where checks are specialized.
        """
        answers: dict[Hashable, bool] = {} if leaf is None else {LEAF: leaf}
        return CaseFacts(answers, node_values(self.model.plan(), leaf) if self.options.checks else {})

    def classes(self) -> tuple[NodeClass, ...]:
        """Return the classes that the nodes of one batch are sorted into; none if there is one only."""
        leaves, inner = tuple(self.cases(True)), tuple(self.cases(False))
        if len(leaves) == len(inner) == 1:
            return ()
        return tuple(case.node_class() for case in (*leaves, *inner))

    def cases(self, leaf: bool | None) -> Iterator[CaseFacts]:
        """Return what is known in each case of leaves, of inner nodes, or of all; unrolled inner nodes are one."""
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
        """Return a check that a case leaves open and that changes its code, or None."""
        for check in self.options.checks:
            if case.known.answer(check) is None and case.matters(check):
                return check
        return None

    def nodes(self, known: CaseFacts) -> NodeBody:
        """Return the function from a node of a case to its statements."""
        return lambda node: self.body(node, known)

    def _case(self, node: Expr, known: CaseFacts) -> Case:
        constants = self.constants if self.options.constants else None
        return Case(self.model, self.buffers, self.computed, self.inputs, node, known, constants)

    def body(self, node: Expr, known: CaseFacts) -> Stmt:
        """Return the statements of one node in a case, with a test for each condition that the case leaves open."""
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
        """Return a comparison as an expression of one node."""
        functions = self.functions
        asked = functions.num_children if check.payload is None else functions.payloads[check.payload]
        return Binary(check.op, Call(asked, (node,)), Const(check.value))
