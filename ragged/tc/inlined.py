"""Versions of tensors that are computed where they are read."""

from __future__ import annotations

from ragged.ir import expr as ir
from ragged.ir.walk import subexpressions
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import CheckedStatement, TensorVersion


def inlined_versions(analysed: AnalysedFunction) -> dict[TensorVersion, CheckedStatement]:
    """Return the versions that are computed where they are read: temporaries with one reader, at its own indices.

    Reductions are not: the default schedule tiles one that is a nest of its own.
    """
    function = analysed.function
    readers: dict[TensorVersion, set[CheckedStatement]] = {}
    plain: dict[TensorVersion, bool] = {}
    for statement in function.statements:
        own = tuple(map(ir.Ref, statement.indices))
        for part in subexpressions(statement.value):
            if isinstance(part, ir.Load):
                version = function.versions[part.buffer]
                readers.setdefault(version, set()).add(statement)
                whole = not statement.reduced and part.indices == own
                plain[version] = plain.get(version, True) and whole
        for version in filter(None, (statement.previous, statement.earlier if statement.partial else None)):
            readers.setdefault(version, set()).add(statement)
            plain[version] = plain.get(version, True) and not statement.partial
    outputs, found = set(function.outputs.values()), {}
    for statement in function.statements:
        target = statement.target
        if target in outputs or len(readers.get(target, ())) != 1 or not plain[target]:
            continue
        if statement.partial or statement.reduced:
            continue
        (reader,) = readers[target]
        if reader.target.domain == target.domain:
            found[target] = statement
    return found
