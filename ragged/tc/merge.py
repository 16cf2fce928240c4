"""Dimensions that all statements index together become one: over h and w side by side there is one loop over both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, count
from math import prod

from ragged.arith.fold import times
from ragged.arith.index_intervals import value_of
from ragged.ir import expr as ir
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.walk import variables
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, TensorVersion
from ragged.tc.mergeable import MergeCandidates, Pair, Place


@dataclass(frozen=True, slots=True)
class MergedFunction:
    """A function of the same values with fewer dimensions.

    `products` are its own sizes, as products of those that it was declared with; `groups` has for each tensor the
    number of declared dimensions in each of its dimensions.
    """

    analysed: AnalysedFunction
    products: Mapping[ir.Var, ir.Expr]
    groups: Mapping[TensorVersion, tuple[int, ...]]

    def with_products(self, sizes: Mapping[ir.Var, int]) -> dict[ir.Var, int]:
        """Return the values of declared sizes, and those of the function's own that follow from them."""
        known = {var: own for var, own in self.products.items() if variables(own) <= sizes.keys()}
        return {**sizes, **{var: value_of(own, sizes) for var, own in known.items()}}

    def shape(self, name: str, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape in which the kernel has the array of an argument or an output, which has a shape."""
        function = self.analysed.function
        version = function.parameters.get(name) or function.initial.get(name) or function.outputs[name]
        groups = self.groups[version]
        return tuple(prod(shape[end - n : end]) for n, end in zip(groups, accumulate(groups), strict=True))


def merge_dimensions(analysed: AnalysedFunction, kept: Collection[str] = ()) -> MergedFunction:
    """Merge dimensions next to each other that each statement indexes by two indices of which it makes no other use.

    Reductions of tensors in `kept` stay as they are, and so do functions with lengths: their dimensions vary.

    before::

        O(b,h,w) = I(b,h,w) + B(b)

    after::

        O(b,h_w) = I(b,h_w) + B(b)
    """
    function = analysed.function
    groups = {each: (1,) * each.rank for each in function.versions.values()}
    products: dict[ir.Var, ir.Expr] = {}
    if not function.varies and not function.lengths:
        while (found := MergeCandidates(function, kept).component()) is not None:
            function, groups = _Merge(function, products, *found).merged(groups)
    return MergedFunction(replace(analysed, function=function), products, groups)


class _Loads(Rewriter):
    """Replaces reads of merged tensors."""

    def __init__(self, merge: _Merge, statement: CheckedStatement) -> None:
        super().__init__()
        self.merge, self.statement = merge, statement

    def expr(self, expr: ir.Expr) -> ir.Expr:
        """Rewrite an expression."""
        if not isinstance(expr, ir.Load):
            return super().expr(expr)
        version, indices = self.merge.function.versions[expr.buffer], list[ir.Expr]()
        for place, index in enumerate(expr.indices):
            if isinstance(index, ir.Ref) and (version, place) in self.merge.places:
                indices.append(ir.Ref(self.merge.indices[self.statement, index.var]))
            elif (version, place - 1) not in self.merge.places:
                indices.append(self.expr(index))
        return ir.Load(self.merge.versions[version].buffer, tuple(indices), expr.at)


class _Merge:
    """A function with the dimensions at `places` merged with those after them."""

    def __init__(
        self,
        function: CheckedFunction,
        products: dict[ir.Var, ir.Expr],
        pairs: set[Pair],
        places: set[Place],
    ) -> None:
        self.function, self.products, self.pairs, self.places = function, products, pairs, places
        self.sizes = dict(function.sizes)
        self.indices = {(s, one): ir.Var(f"{one.name}_{other.name}") for s, one, other in pairs}
        statement, one, other = next(iter(pairs))
        extents = [statement.ranges[var].upper for var in (one, other)]
        self.range = IndexRange(ir.Const(0), self.product(*extents))
        self.versions = {each: self.version(each) for each in function.versions.values()}

    def product(self, one: ir.Expr, other: ir.Expr) -> ir.Expr:
        """Return the extent of two dimensions as one: a size of its own unless it is a number."""
        extent = substitute(times(one, other), self.products)
        if isinstance(extent, ir.Const):
            return extent
        names = [each.var.name for each in (one, other) if isinstance(each, ir.Ref)]
        wanted = "_".join(names) if len(names) == 2 else "extent"
        candidates = chain((wanted,), (f"{wanted}_{k}" for k in count(2)))
        name = next(each for each in candidates if each not in self.function.values)
        self.sizes[name] = ir.Var(name)
        self.products[self.sizes[name]] = extent
        return ir.Ref(self.sizes[name])

    def merged(
        self, groups: Mapping[TensorVersion, tuple[int, ...]]
    ) -> tuple[CheckedFunction, dict[TensorVersion, tuple[int, ...]]]:
        """Return the function, and the number of declared dimensions in each dimension of its tensors."""
        function, versions = self.function, self.versions
        found = replace(
            function,
            sizes=self.sizes,
            parameters={name: versions[each] for name, each in function.parameters.items()},
            initial={name: versions[each] for name, each in function.initial.items()},
            outputs={name: versions[each] for name, each in function.outputs.items()},
            statements=[self.statement(each) for each in function.statements],
            versions={each.buffer: each for each in versions.values()},
        )
        return found, {new: self.group(old, groups[old]) for old, new in versions.items()}

    def group(self, version: TensorVersion, own: Sequence[int]) -> tuple[int, ...]:
        found: list[int] = []
        for place, number in enumerate(own):
            if (version, place - 1) in self.places:
                found[-1] += number
            else:
                found.append(number)
        return tuple(found)

    def version(self, version: TensorVersion) -> TensorVersion:
        """Return a tensor after the merge; itself if it stays as it is."""
        if version.domain is None or not any(each is version for each, _ in self.places):
            return version
        domain = tuple(
            self.range if (version, place) in self.places else own
            for place, own in enumerate(version.domain)
            if (version, place - 1) not in self.places
        )
        return TensorVersion(version.name, version.type, len(domain), version.at, version.given, domain)

    def statement(self, statement: CheckedStatement) -> CheckedStatement:
        """Return a statement over the merged tensors; what it does not read it no longer names."""
        ranges = dict(statement.ranges)
        for owner, one, other in self.pairs:
            if owner is statement:
                del ranges[one], ranges[other]
                ranges[self.indices[statement, one]] = self.range
        earlier = statement.earlier if statement.partial else None
        loads = _Loads(self, statement)
        return replace(
            statement,
            target=self.versions[statement.target],
            previous=None if statement.previous is None else self.versions[statement.previous],
            earlier=None if earlier is None else self.versions[earlier],
            indices=self.joined(statement, statement.indices),
            reduced=self.joined(statement, statement.reduced),
            value=loads.expr(statement.value),
            witnesses=(),
            ranges=ranges,
        )

    def joined(self, statement: CheckedStatement, indices: Sequence[ir.Var]) -> tuple[ir.Var, ...]:
        seconds = {other for owner, _, other in self.pairs if owner is statement}
        return tuple(self.indices.get((statement, var), var) for var in indices if var not in seconds)
