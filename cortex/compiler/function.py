"""A compiled model: what `cortex.compile` and `cortex.load` return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import msgspec

from cortex.compiler.arguments import Arguments
from cortex.compiler.output import Output
from cortex.compiler.profile import Profile
from cortex.compiler.signature import RecursiveSignature
from cortex.compiler.stream import stream
from cortex.ilir.plan import Plan
from cortex.linearize import Linearized, Linearizer, Vocab
from ragged.compiled.artifact import Artifact, artifact_form
from ragged.compiled.function import CompiledFunction
from ragged.compiled.parts import CompiledParts
from ragged.compiled.profile import percentiles, spread
from ragged.compiled.spin_time import spin_time_by_batch
from ragged.errors import DataError, UserError
from ragged.ir.expr import Role
from ragged.ir.program import StageKind

_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True, slots=True, eq=False)
class RecursiveParts(CompiledParts[RecursiveSignature]):
    """The parts of a compiled model, with its linearizer and the vocabulary of bracketed strings."""

    linearizer: Linearizer
    vocab: Vocab | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary as data: the words in the order of their rows, and the one for unknown words."""

    words: list[str]
    unknown: str | None


class RecursiveFunction(CompiledFunction[RecursiveSignature]):
    """A model compiled for one machine, with its parameters: call it on structures.

    One function serves every batch, and any number of threads may call it at once. `cortex.compile` says what a
    call takes.
    """

    parts: ClassVar[type[CompiledParts[Any]]] = RecursiveParts
    form = artifact_form("compiled function", 6, Artifact[RecursiveSignature], _VOCABULARY)
    stages = ("ra", "schedule", "ilir", "loops", "checks", "tir", "asm", "cuda")
    loader = "cortex.load"
    _parts: RecursiveParts

    def __init__(self, parts: RecursiveParts, params: Mapping[str, object]) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        super().__init__(parts, params)
        self._linearizer = parts.linearizer
        columns = parts.kernel.kernel.shares_columns
        self._spin_ns = spin_time_by_batch(parts.signature.operations, parts.workers, columns=columns)
        self._arguments = Arguments(self.plan, self._caller.wanted)
        outputs = parts.kernel.named(Role.OUTPUT)
        self._outputs = tuple(outputs[name] for name in self._caller.outputs)

    def __call__(self, data: object) -> Output:
        """Run the model over structures and return its results, which the caller owns.

        `data` is a list of structures, one structure, or what `linearize` returned. Vectors of nodes that stand in
        arrays are read where they are: no thread may change or resize them before the call returns.

        Raises:
            DataError: something in `data` is not what the model takes; nothing has been computed.
        """
        return self._run(self._linearizer.borrow(data, self._arguments.in_place))

    def _run(self, linearized: Linearized) -> Output:
        sizes = linearized.arrays
        spin_ns = self._spin_ns(sizes["num_nodes"], sizes["num_batches"])
        arrays = self._caller.run(self._arguments(linearized), spin_ns=spin_ns)
        outputs = dict(zip(self._outputs, arrays, strict=True))
        signature = self._parts.signature
        own = {"heads": signature.heads, "structures": signature.after}
        return Output(outputs, linearized, keep_nodes=signature.keep_nodes, **own)

    def stream(self, batches: Iterable[object]) -> Iterator[Output]:
        """Yield what calls on each of `batches` return, in order; the next one is linearized while one is computed.

        Each batch is what a call takes. Where batches take a millisecond and more to linearize, they are read in
        another thread, one ahead of the results. It pays where a processor is free of the kernel's workers.

        Raises:
            DataError: as a call does, when the batch's turn comes; the stream ends there.

        Example::

            for out in fn.stream(batches_of(trees, 64)):
                write(out["h"])
        """
        return stream(batches, self._linearizer, self._run)

    def linearize(self, data: object, *, max_nodes: int | None = None) -> Linearized:
        """Return the arrays of a batch, to be given to calls instead of the batch: linearizing is paid for once.

        A batch has at most `max_nodes` nodes, by default 2**26, as in a call on structures.

        Raises:
            DataError: something in `data` is not what the model takes.
        """
        if max_nodes is None:
            return self._linearizer(data)
        return self._linearizer.with_max_nodes(max_nodes)(data)

    @property
    def plan(self) -> Plan:
        """The structures that the function takes: their kind, arity and payloads."""
        return self._linearizer.plan

    @property
    def vocab(self) -> Vocab | None:
        """The numbers of the words in bracketed strings, if the function has them."""
        return self._parts.vocab

    def profile(self, data: object, repeats: int = 20) -> Profile:
        """Time the parts of a call on `data`, each `repeats` times after one run that is not counted.

        Raises `UserError` for `repeats` below 1, and what a call raises.
        """
        if type(repeats) is not int or repeats < 1:
            raise UserError(f"profile: repeats={repeats!r} is no number of times", fix="a number from 1 up")
        linearize = partial(self._linearizer.borrow, data, self._arguments.in_place)
        linearized = linearize()
        stages = self._timed(linearized, repeats)
        return Profile(
            linearized.num_structures,
            linearized.num_nodes,
            linearized.num_batches,
            spread(linearize, repeats),
            percentiles([times.get(StageKind.PRELUDE, 0) for times in stages]),
            percentiles([times[StageKind.KERNEL] for times in stages]),
            spread(lambda: self(data), repeats),
            self._bind_us,
            self._parts.signature.table_bytes,
        )

    def kernel_times(self, data: object, repeats: int) -> list[int]:
        """Return the nanoseconds that the kernel takes on `data`, `repeats` times after one run that is not counted."""
        linearized = self._linearizer.borrow(data, self._arguments.in_place)
        return [times[StageKind.KERNEL] for times in self._timed(linearized, repeats)]

    def _timed(self, linearized: Linearized, repeats: int) -> list[dict[StageKind, int]]:
        wanted = (argument.name for argument in self._caller.wanted)
        arguments = dict(zip(wanted, self._arguments(linearized), strict=True))
        sizes = linearized.arrays
        spin_ns = self._spin_ns(sizes["num_nodes"], sizes["num_batches"])
        return [self._caller.timed(arguments, spin_ns=spin_ns) for _ in range(repeats + 1)][1:]

    @classmethod
    def _read_options(cls, signature: RecursiveSignature, members: Mapping[str, bytes]) -> dict[str, Any]:
        vocab = None
        if _VOCABULARY in members:
            try:
                read = msgspec.json.decode(members[_VOCABULARY], type=Vocabulary)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise DataError(f"{_VOCABULARY} cannot be read", because=str(error)) from None
            vocab = Vocab(read.words, read.unknown)
        return {
            "linearizer": Linearizer(
                signature.plan, vocab=vocab, children=signature.children, payloads=signature.payloads
            ),
            "vocab": vocab,
        }

    def _members(self) -> dict[str, bytes]:
        vocab = self._parts.vocab
        if vocab is None:
            return {}
        words = list(vocab)
        unknown = None if vocab.unknown is None else words[vocab.unknown]
        return {_VOCABULARY: msgspec.json.encode(Vocabulary(words, unknown))}

    def __repr__(self) -> str:
        outputs = ", ".join(self._parts.signature.outputs)
        target = self._parts.kernel.kernel.executable.target
        return f"<RecursiveFunction over {self.plan.kind.value}s, outputs {outputs}, for {target}>"


load = RecursiveFunction.load
