"""Equal loop nests of a kernel as functions: outlining.

Layers of one shape in a node, and projections of one shape in an attention, differ in their buffers and variables
alone. LLVM compiles such a nest once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragged.codegen.load_tvm import tirx, tvm, tvm_ffi
from ragged.codegen.ops import TirExpr, TirStmt
from ragged.codegen.stmts import sequence

OUTLINED = "outlined_"
"""What the names of these functions begin with; the stage's and a number follow."""


def outline_equal_nests(function: Any, name: str) -> tuple[Any, dict[Any, Any]]:
    """Return a `tirx.PrimFunc` with calls in place of nests that it has repeatedly, and the functions called.

    Functions have their `GlobalVar` as key. A nest that may end the stage is not outlined, nor one of fewer statements
    than its function would have arguments, nor one that uses a local buffer from around it: that might be in registers,
    which have no address.
    """
    found = _NestFinder()
    found.visit(function.body)
    outlined: dict[Any, Any] = {}
    calls: dict[Any, TirStmt] = {}
    for nests in _repeated(found.nests):
        callee = tvm.ir.GlobalVar(f"{OUTLINED}{name}_{len(outlined)}")
        outlined[callee] = nests[0].loop
        for nest in nests:
            calls[nest.loop] = tirx.Evaluate(callee(*map(_argument, _free(nest.loop))))
    functions = {
        callee: _function(loop, calls).with_attrs(function.attrs).without_attr("global_symbol")
        for callee, loop in outlined.items()
    }
    return function.with_body(_called(function.body, calls)) if calls else function, functions


@dataclass(slots=True)
class _CandidateNest:
    """A loop: the places of it and the loops in it are those from `place` to before `end`.

    `statements` and `returns` count the stores and calls, and the ends of the stage, in it.
    """

    loop: Any
    place: int
    end: int = 0
    statements: int = 0
    returns: int = 0


@dataclass(slots=True)
class _NestFinder:
    """Collects the loops of a statement, outer before inner."""

    nests: list[_CandidateNest] = field(default_factory=list)
    statements: int = 0
    returns: int = 0

    def visit(self, stmt: TirStmt) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for inner in stmt.seq:
                self.visit(inner)
        elif isinstance(stmt, tirx.For):
            self._loop(stmt)
        elif isinstance(stmt, tirx.IfThenElse):
            self.visit(stmt.then_case)
            if stmt.else_case is not None:
                self.visit(stmt.else_case)
        elif isinstance(stmt, tirx.AttrStmt):
            self.visit(stmt.body)
        elif isinstance(stmt, tirx.Return):
            self.returns += 1
        elif isinstance(stmt, tirx.BufferStore | tirx.Evaluate):
            self.statements += 1

    def _loop(self, loop: Any) -> None:
        nest = _CandidateNest(loop, len(self.nests), statements=-self.statements, returns=-self.returns)
        self.nests.append(nest)
        self.visit(loop.body)
        nest.end = len(self.nests)
        nest.statements += self.statements
        nest.returns += self.returns


def _repeated(nests: Sequence[_CandidateNest]) -> Iterator[list[_CandidateNest]]:
    """Yield nests that are equal, larger ones first; what lies in the second and later of them is of no other group."""
    alike = defaultdict(list)
    for nest in nests:
        if not nest.returns:
            alike[nest.statements, nest.end - nest.place].append(nest)
    groups = defaultdict(list)
    for same in alike.values():
        for nest in same if len(same) > 1 else ():
            groups[tvm_ffi.structural_hash(nest.loop, map_free_vars=True)].append(nest)
    gone: set[int] = set()
    for group in sorted(groups.values(), key=lambda group: -group[0].statements):
        left = [nest for nest in group if nest.place not in gone]
        equal = [nest for nest in left if _equal(left[0].loop, nest.loop)]
        if len(equal) > 1 and _is_worth_it(equal[0]):
            gone.update(place for nest in equal[1:] for place in range(nest.place, nest.end))
            yield equal


def _is_worth_it(nest: _CandidateNest) -> bool:
    free = _free(nest.loop)
    local = any(isinstance(var.ty, tirx.BufferType) and var.ty.storage_scope == "local" for var in free)
    return nest.statements >= len(free) and not local


def _equal(loop: Any, other: Any) -> bool:
    return bool(tvm_ffi.structural_equal(loop, other, map_free_vars=True))


def _free(loop: Any) -> list[Any]:
    """Return the variables that a loop uses and something around it defines, in the order in which it uses them."""
    return list(tirx.analysis.undefined_vars(loop, []))


def _argument(var: Any) -> TirExpr:
    return var.data if isinstance(var.ty, tirx.BufferType) else var


def _function(loop: Any, calls: Mapping[Any, TirStmt]) -> Any:
    """Return a nest as a function of what is free in it; buffers, which overlap no others, come as pointers."""
    free = _free(loop)
    params = [tirx.Var(var.name, var.data.ty) if isinstance(var.ty, tirx.BufferType) else var for var in free]
    declared = [
        tirx.DeclBuffer(var, data=param)
        for var, param in zip(free, params, strict=True)
        if isinstance(var.ty, tirx.BufferType)
    ]
    return tirx.PrimFunc(params, sequence([*declared, _called(loop, calls, but=loop)]))


def _called(stmt: TirStmt, calls: Mapping[Any, TirStmt], but: Any = None) -> TirStmt:
    """Return a statement with calls in place of loops, outermost first."""

    def replaced(loop: Any) -> TirStmt:
        return loop if loop.same_as(but) else calls.get(loop, loop)

    return tvm_ffi.structural_map(stmt, (tirx.For, replaced), order="pre")
