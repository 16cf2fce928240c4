"""The schedule tree of a kernel, as text that isl reads (Tensor Comprehensions, section 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ragged.ir.expr import Expr
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.sites import path_to
from ragged.ir.stmt import CONCURRENT, For, LoopKind, Stmt
from ragged.ir.text.names import Namespace
from ragged.ir.walk import children
from ragged.polyhedral.statements import Statement, statements_of

_WORDS = frozenset(
    (
        "and",
        "ceil",
        "exists",
        "false",
        "floor",
        "implies",
        "infty",
        "max",
        "min",
        "mod",
        "nan",
        "not",
        "or",
        "true",
    )
)
_INDEPENDENT = (*CONCURRENT, LoopKind.VECTORIZED)
_GENERATED = re.compile(r"\b[ip]\d+\b")


def schedule_tree(program: Program) -> str:
    """Return the schedule tree of a program's kernel, in isl's YAML.

    `domain` has the iterations of each statement, which has the name of its label. The children of a `sequence` come
    one after another, each a `filter` of statements. A band, `schedule`, is loops directly inside each other: its
    `mark` has their kinds, a member is 1 in `coincident` if its iterations are proven to be independent.
    Parameters that are no size are comments in front. What is not affine is an unknown that `exists`: a domain may be
    larger than it is, and never smaller.

    Example::

        print(f.show("tree"))
    """
    tree = _Tree({id(each.site.stmt): each for each in statements_of(program)})
    domains = "; ".join([tree.domain(each) for each in tree.statements.values()])
    named = {tree.renamed(name): expr_text(expr) for name, expr in tree.parameters.items()}
    comments = [f"# {name} = {text}" for name, text in named.items() if name != text]
    domain = f'domain: "[{", ".join(named)}] -> {{ {domains} }}"'
    return "\n".join([*comments, domain, *_child(tree.node(program.kernel))])


@dataclass
class _Tree:
    """Writes nodes of the tree; `statements` has the statements by the identity of what they are in the kernel."""

    statements: dict[int, Statement]
    parameters: dict[str, Expr] = field(default_factory=dict)
    names: Namespace = field(default_factory=lambda: Namespace(_WORDS))

    def domain(self, statement: Statement) -> str:
        """Return the iterations of a statement."""
        text, bounds = statement.text(self.parameters)
        held = text.all_of([*bounds, *text.said(path_to(statement.site).conditions)])
        return f"{self.point(statement)} : {self.renamed(held, statement)}"

    def renamed(self, text: str, statement: Statement | None = None) -> str:
        """Return a text with the names of sizes and loops in place of numbers."""

        def name(found: re.Match[str]) -> str:
            word = found[0]
            if word[0] == "i" and statement is not None:
                loop = statement.loops[int(word[1:])]
                return self.names.bind(loop, loop.name)
            own = expr_text(self.parameters[word])
            return self.names.bind(word, own) if own.isidentifier() else word

        return _GENERATED.sub(name, text)

    def point(self, statement: Statement) -> str:
        """Return an iteration of a statement, by its label's name."""
        name = self.names.bind(statement.label, statement.label.name.replace(".", "_"))
        return self.renamed(statement.point(), statement).replace(statement.name, name, 1)

    def node(self, stmt: Stmt) -> list[str]:
        """Return the lines of what is in a statement of the kernel; none for a single one."""
        parts = list(self.parts(stmt))
        if len(parts) == 1:
            return self.band(parts[0]) if isinstance(parts[0], For) else []
        lines = ["sequence:"] if parts else []
        for part in parts:
            points = "; ".join(self.point(each) for each in self.inside(part))
            lines.append(f'- filter: "{{ {points} }}"')
            lines += [f"  {line}" for line in _child(self.node(part))]
        return lines

    def band(self, loop: For) -> list[str]:
        """Return the lines of a loop with those directly inside each other in it, and of what is in them."""
        loops = [loop]
        while len(inner := list(self.parts(loops[-1].body))) == 1 and isinstance(inner[0], For):
            loops.append(inner[0])
        members = []
        for each in loops:
            name = self.names.bind(each.var, each.var.name)
            maps = (f"{self.point(statement)} -> [({name})]" for statement in self.inside(loop))
            members.append(f"{{ {'; '.join(maps)} }}")
        kinds = ", ".join(f"{each.kind.value} {self.names.bind(each.var, each.var.name)}" for each in loops)
        coincident = ", ".join(str(int(each.kind in _INDEPENDENT)) for each in loops)
        lines = [f'schedule: "[{", ".join(members)}]"', f"coincident: [ {coincident} ]"]
        return [f'mark: "{kinds}"', *_child([*lines, *_child(self.node(loops[-1].body))])]

    def parts(self, stmt: Stmt) -> Iterator[Stmt]:
        """Yield the loops and the statements with a label that are in no loop of `stmt`, but for empty loops."""
        if isinstance(stmt, For):
            if any(True for _ in self.inside(stmt)):
                yield stmt
        elif id(stmt) in self.statements:
            yield stmt
        else:
            for each in children(stmt):
                yield from self.parts(each)

    def inside(self, stmt: Stmt) -> Iterator[Statement]:
        """Yield what is a statement in `stmt`."""
        if id(stmt) in self.statements:
            yield self.statements[id(stmt)]
        for each in children(stmt):
            yield from self.inside(each)


def _child(lines: list[str]) -> list[str]:
    return ["child:", *(f"  {line}" for line in lines)] if lines else []
