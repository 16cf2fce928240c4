"""The signature of a compiled function: what calls take and return, as data without expressions of a front end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.codegen.interface import Interface
from ragged.compiled.sizes import Affine
from ragged.errors import DataError, InternalError, ModelError
from ragged.ir.dtype import DType
from ragged.ir.expr import Role
from ragged.runtime.executable import Executable


@dataclass(frozen=True, slots=True)
class Parameter:
    """The dtype and the shape of a parameter; an extent may be an expression of sizes, which its array gives."""

    dtype: DType
    shape: tuple[int | Affine, ...]

    def __str__(self) -> str:
        return f"{self.dtype.value}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The parameters of a compiled function, and the texts of its front end that `show` prints.

    `name` stands in messages; parameters named in `finite` must have finite values alone, and `precision` is what
    products are computed in. `operator` names an operator of `ragged.ops` with its options, and is empty for other
    programs: functions of one operator compute the same, though their texts depend on the target's vectors. Front ends
    add inputs and outputs.
    """

    name: str
    parameters: dict[str, Parameter]
    finite: tuple[str, ...] = ()
    precision: str = "float32"
    operator: str = ""
    texts: dict[str, str]

    @property
    def output_names(self) -> frozenset[str]:
        """The names of the outputs."""
        raise NotImplementedError

    def options(self) -> dict[str, object]:
        """Return the options of `compile` that alternatives of one saved function have in common, by name."""
        return {"precision": self.precision}

    def faults(self, executable: Executable) -> Iterator[str]:
        """Yield why this is not the signature of the code; front ends add their own reasons."""
        read, written = (names_of(executable.interface, role) for role in (Role.PARAMETER, Role.OUTPUT))
        if not read <= set(self.parameters) or written != self.output_names:
            yield f"it reads {', '.join(sorted(read))} and gives {', '.join(sorted(written))}"
        unknown = set(self.finite) - set(self.parameters)
        if unknown:
            yield f"'{min(unknown)}' is to be finite and is no parameter"


def names_of(interface: Interface, role: Role) -> frozenset[str]:
    """Return the names of a program's buffers of a role; `DataError` for an interface that describes no program."""
    try:
        return interface.named(role)
    except (InternalError, ModelError) as fault:
        raise DataError("compiled code is not what its description says", because=fault.what) from None
