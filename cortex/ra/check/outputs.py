"""The outputs of a recursion, their placeholders, and names."""

from __future__ import annotations

from cortex.ra.collect import Recursion
from cortex.ra.shapes import described
from cortex.ra.sites import all_reads
from cortex.ra.tensor import Compute, InputTensor, NodeInput, Placeholder, UnreadPlaceholder
from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType


def check_any_output(recursion: Recursion) -> None:
    """A recursion has an output."""
    if not recursion.outputs and not recursion.after:
        raise ModelError("recursion_op: no outputs", at=Location.capture(), fix='{"h": (h_ph, h)}')


def check_placeholders_distinct(recursion: Recursion) -> None:
    """Each placeholder stands for one output."""
    seen: dict[Placeholder, str] = {}
    for name, (placeholder, _) in recursion.outputs.items():
        if placeholder in seen:
            raise ModelError(
                f"recursion_op: outputs '{seen[placeholder]}' and '{name}' have one placeholder",
                at=placeholder.at,
                because="a read of it would mean either",
                fix="declare a placeholder for each output",
            )
        seen[placeholder] = name


def check_placeholders_known(recursion: Recursion) -> None:
    """Each placeholder that is read belongs to an output."""
    for _, read in all_reads(recursion.at_nodes):
        if isinstance(read.tensor, Placeholder) and read.tensor not in recursion.placeholders:
            raise ModelError(
                f"'{recursion.text(read)}' reads a placeholder that the recursion does not define",
                at=read.at,
                because=f"the outputs are {', '.join(recursion.outputs)}",
                fix="name it among the outputs, {..., name: (placeholder, compute)}; another recursion's results "
                "come as a payload",
            )


def check_names_distinct(recursion: Recursion) -> None:
    """Parameters and payloads have distinct names."""
    seen: dict[str, InputTensor | NodeInput] = {}
    for tensor in recursion.tensors:
        if not isinstance(tensor, InputTensor | NodeInput):
            continue
        if tensor.name in seen:
            raise ModelError(
                f"two inputs are called '{tensor.name}'",
                at=tensor.at,
                because=f"the other is declared at {seen[tensor.name].at}",
                fix="give each its own name, or read one tensor in both places",
            )
        seen[tensor.name] = tensor


def check_computes_are_numbers(recursion: Recursion) -> None:
    """A compute holds numbers, and an output holds floats."""
    for body in recursion.bodies:
        if isinstance(body, Compute) and body.dtype is DType.BOOL:
            raise ModelError(
                f"'{recursion.name(body)}' computes truth values",
                at=body.at,
                because=f"it is {recursion.text(body.body)}",
                fix="use the condition where it is needed, or ra.where(condition, 1.0, 0.0)",
            )
    outputs = {name: body for name, (_, body) in recursion.outputs.items()}
    for name, body in (outputs | recursion.heads | recursion.after).items():
        if not body.dtype.is_float:
            raise ModelError(
                f"output '{name}' computes integers",
                at=body.at,
                because="results are floats",
                fix="multiply by 1.0",
            )


def check_output_shapes(recursion: Recursion) -> None:
    """An output has the shape of its placeholder."""
    for name, (placeholder, body) in recursion.outputs.items():
        if placeholder.shape != body.shape:
            raise ModelError(
                f"output '{name}' has shape {described(body.shape)}, its placeholder {described(placeholder.shape)}",
                at=body.at,
                because="what a child returned is read through the placeholder",
                fix="give both one shape",
            )


def check_recursive(recursion: Recursion) -> None:
    """The result of some child is read, if any output has a placeholder that was declared."""
    declared = [each for each in recursion.placeholders if not isinstance(each, UnreadPlaceholder)]
    if not declared or any(isinstance(read.tensor, Placeholder) for _, read in all_reads(recursion.computes)):
        return
    unread = ", ".join(f"'{recursion.name(placeholder)}'" for placeholder in declared)
    raise ModelError(
        f"no recursion: nothing reads {unread}",
        at=declared[0].at,
        because="no node uses what its children returned",
        fix='read the placeholder at a child: h_ph[k, i]; a layer without recursion is recursion_op({"y": y})',
    )
