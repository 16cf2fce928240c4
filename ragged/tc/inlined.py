"""Versions of tensors that are computed where they are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ragged.ir import expr as ir
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.walk import subexpressions
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import CheckedStatement, TensorVersion


@dataclass
class InlinedVersions:
    """Temporaries with one reader, at its own indices: `found` by version.

    `readers` has the reader of each other one that is a sum of products: the sum goes on in registers in the loops of
    that statement. Other reductions are nests of their own, and so are two sums with one reader: in its loops neither
    would have a tile of its own.
    """

    found: dict[TensorVersion, CheckedStatement] = field(default_factory=dict)
    readers: dict[TensorVersion, CheckedStatement] = field(default_factory=dict)


def inlined_versions(analysed: AnalysedFunction) -> InlinedVersions:
    """Return the versions that are computed where they are read."""
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
    outputs, found = set(function.outputs.values()), InlinedVersions()
    for statement in reversed(function.statements):
        target = statement.target
        if target in outputs or len(readers.get(target, ())) != 1 or not plain[target] or statement.partial:
            continue
        (reader,) = readers[target]
        if reader.target.domain != target.domain:
            continue
        if not statement.reduced:
            found.found[target] = statement
        elif _is_product(statement) and not reader.reduced and not reader.partial:
            found.readers[target] = reader
    for target, reader in found.readers.items():
        while reader.target in found.found:
            (reader,) = readers[reader.target]
        found.readers[target] = reader
    sums = Counter(found.readers.values())
    found.readers = {target: reader for target, reader in found.readers.items() if sums[reader] == 1}
    return found


def _is_product(statement: CheckedStatement) -> bool:
    """Return whether a statement sums products of two elements."""
    value = statement.value
    return (
        statement.combiner is Combiner.SUM
        and isinstance(value, ir.Binary)
        and value.op is BinaryOp.MUL
        and isinstance(value.lhs, ir.Load)
        and isinstance(value.rhs, ir.Load)
    )
