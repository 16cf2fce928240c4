"""The tensors of a recursion in topological order, and a unique name for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cortex.ra.base import ModelTensor, S
from cortex.ra.expr import Expr, Read, operands
from cortex.ra.structure import Structure
from cortex.ra.tensor import Body, Compute, IfThenElse, InputTensor, NodeInput, Placeholder


@dataclass(frozen=True, slots=True, eq=False)
class Recursion:
    """A recursion as written, before the checks: outputs, and the tensors that they depend on.

    `computes`, `root_computes` and `after_computes` are in topological order. `names` are unique. `states` are the
    outputs that only a node's parent reads: they are not among the results of a call. `heads` are the results at roots
    alone, `after` those that are computed of whole structures after the recursion.
    """

    outputs: Mapping[str, tuple[Placeholder, Body]]
    structure: Structure
    states: frozenset[str] = frozenset()
    heads: dict[str, Body] = field(default_factory=dict)
    after: dict[str, Body] = field(default_factory=dict)
    tensors: tuple[ModelTensor, ...] = field(init=False)
    computes: tuple[Body, ...] = field(init=False)
    root_computes: tuple[Body, ...] = field(init=False)
    after_computes: tuple[Body, ...] = field(init=False)
    names: Mapping[ModelTensor, str] = field(init=False)

    def __post_init__(self) -> None:
        outputs = [body for _, body in self.outputs.values()]
        everywhere = _in_order(outputs)
        at_roots = _in_order(self.heads.values(), given=outputs)
        later = _in_order(self.after.values(), given=outputs)
        found = {**everywhere, **_in_order(self.heads.values()), **_in_order(self.after.values())}
        lists = {
            "tensors": found,
            "computes": everywhere,
            "root_computes": at_roots,
            "after_computes": later,
        }
        for name, value in lists.items():
            kept = tuple(t for t in value if name == "tensors" or isinstance(t, Body))
            object.__setattr__(self, name, kept)
        object.__setattr__(self, "names", _unique_names(self.outputs, self.heads | self.after, self.tensors))

    @property
    def inputs(self) -> dict[str, InputTensor]:
        """The parameters by name, in the order in which the model reads them."""
        return {tensor.name: tensor for tensor in self.tensors if isinstance(tensor, InputTensor)}

    @property
    def payloads(self) -> dict[str, NodeInput]:
        """The payloads by name, in the order in which the model reads them."""
        return {tensor.name: tensor for tensor in self.tensors if isinstance(tensor, NodeInput)}

    @property
    def results(self) -> dict[str, tuple[Placeholder, Body]]:
        """The outputs that a call returns, by name."""
        return {name: output for name, output in self.outputs.items() if name not in self.states}

    @property
    def at_nodes(self) -> tuple[Body, ...]:
        """The tensors computed at all nodes, in the recursion or after it."""
        return tuple(dict.fromkeys((*self.computes, *(t for t in self.after_computes if S not in t.shape))))

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The tensors computed at nodes, at roots or of structures, in topological order."""
        return tuple(tensor for tensor in self.tensors if isinstance(tensor, Body))

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """The results of the recursion, in the order of the outputs."""
        return tuple(placeholder for placeholder, _ in self.outputs.values())

    def name(self, tensor: ModelTensor) -> str:
        """Return the tensor's name in this model."""
        return self.names[tensor]

    def text(self, expr: Expr) -> str:
        """Return the expression in infix, with the names of this model."""
        return expr.text(self.name)


def reads(body: Body) -> Iterator[ModelTensor]:
    """Yield the tensors that a compute reads, in the order in which it is written."""
    match body:
        case Compute(body=expr):
            yield from _read_by(expr)
        case IfThenElse(condition=condition, then=then, orelse=orelse):
            yield from _read_by(condition)
            yield then
            yield orelse


def _read_by(expr: Expr) -> Iterator[ModelTensor]:
    if isinstance(expr, Read):
        yield expr.tensor
    for operand in operands(expr):
        yield from _read_by(operand)


def _in_order(roots: Iterable[Body], given: Iterable[Body] = ()) -> dict[ModelTensor, None]:
    """Return the roots and the tensors that they depend on, in topological order; `given` are excluded."""
    done: dict[ModelTensor, None] = dict.fromkeys(given)
    excluded = tuple(done)
    stack: list[tuple[ModelTensor, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        tensor, ready = stack.pop()
        if tensor in done:
            continue
        if ready or not isinstance(tensor, Body):
            done[tensor] = None
            continue
        stack.append((tensor, True))
        stack.extend((read, False) for read in reversed(list(reads(tensor))))
    for tensor in excluded:
        del done[tensor]
    return done


def _unique_names(
    outputs: Mapping[str, tuple[Placeholder, Body]],
    heads: Mapping[str, Body],
    tensors: tuple[ModelTensor, ...],
) -> dict[ModelTensor, str]:
    """Return a name for each tensor: inputs keep theirs, then outputs, then all other tensors."""
    wanted: dict[ModelTensor, str] = {t: t.name for t in tensors if isinstance(t, InputTensor | NodeInput)}
    for name, (placeholder, body) in outputs.items():
        wanted.setdefault(body, body.name or name)
        wanted.setdefault(placeholder, placeholder.name or f"{name}_ph")
    for name, body in heads.items():
        wanted.setdefault(body, body.name or name)
    for number, tensor in enumerate((t for t in tensors if t not in wanted), start=1):
        wanted[tensor] = tensor.name or f"t{number}"
    taken: set[str] = set()
    unique: dict[ModelTensor, str] = {}
    for tensor, name in wanted.items():
        candidates = (name if copy == 1 else f"{name}_{copy}" for copy in range(1, len(wanted) + 2))
        unique[tensor] = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(unique[tensor])
    return unique
