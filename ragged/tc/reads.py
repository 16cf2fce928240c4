"""What expressions of the syntax tree read."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.tc import tree as tc


def named_in(*roots: tc.TcExpression) -> Iterator[tc.Access | tc.Name]:
    """Yield the names and the accesses in expressions."""
    pending = list(roots)
    while pending:
        match pending.pop():
            case tc.Access(arguments=arguments) as access:
                yield access
                pending += arguments
            case tc.Name() as name:
                yield name
            case tc.Prefix(operand=operand) | tc.Conversion(operand=operand):
                pending.append(operand)
            case tc.Infix(lhs=lhs, rhs=rhs):
                pending += (lhs, rhs)
            case tc.Conditional(condition=condition, if_true=if_true, if_false=if_false):
                pending += (condition, if_true, if_false)
            case tc.NumberLiteral():
                pass


def reads_of(source: tc.Comprehension) -> list[tc.Access]:
    """Return the reads of tensors in a statement, names without indices as well."""
    roots = [source.value]
    for clause in source.clauses:
        match clause:
            case tc.LetClause(value=value):
                roots.append(value)
            case tc.ExistsClause(access=access):
                roots.append(access)
            case tc.RangeClause() | tc.MembersClause():
                pass
    indices = {index.id for index in source.indices}
    found = []
    for each in named_in(*roots):
        if isinstance(each, tc.Access):
            found.append(each)
        elif each.id not in indices:
            found.append(tc.Access(each.id, (), each.at))
    return found


def lengths_of(definition: tc.Definition) -> frozenset[str]:
    """Return the names that are read in the extents of parameters and in the bounds of ranges."""
    roots = [dim for each in definition.parameters for dim in each.dims]
    for statement in definition.statements:
        for clause in statement.clauses if isinstance(statement, tc.Comprehension) else ():
            if isinstance(clause, tc.RangeClause):
                roots += (clause.lower, clause.upper)
    return frozenset(each.name for each in named_in(*roots) if isinstance(each, tc.Access))
