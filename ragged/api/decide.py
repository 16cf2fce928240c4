"""The first part of a schedule, before loops are made: storage, padding, and where operators are computed."""

from __future__ import annotations

from ragged.api.attach import check_attached, require_undecided
from ragged.api.padding import (
    is_whole,
    require_known,
    require_shown_alike,
    require_stored_known,
    require_unpadded,
)
from ragged.api.program import Piece, ScheduleDecisions, decide_parts, refuse, take_parts_along, tensors_of
from ragged.api.storage import fused_pair, linear_uses, pieces_of, require_before
from ragged.api.tensors import Kind, Loop, RaggedTensor, TensorDim
from ragged.errors import Location, ModelError, ScheduleError


class DecisionSchedule:
    """Decisions on the storage and the padding of a program's operators; checked together when loops are made.

    A refused decision leaves those before it as they were.
    """

    def __init__(self, *outputs: RaggedTensor, name: str | None = None) -> None:
        for output in outputs:
            if output.kind is not Kind.COMPUTED:
                raise ModelError(f"Schedule: '{output.name}' is not computed", at=Location.capture())
        if not outputs:
            raise ModelError("Schedule: there is nothing to compute", at=Location.capture())
        self.outputs = outputs
        self.name = name or outputs[-1].name
        self.tensors = tensors_of(outputs)
        self.decisions = ScheduleDecisions()
        decide_parts(self.tensors, self.decisions)
        self._decided: list[str] = []

    @property
    def decided(self) -> bool:
        """True when the loops have been made, and nothing is left to decide."""
        return False

    def tensor(self, name: str, nth: int = 0) -> RaggedTensor:
        """Return the program's tensor of that name: the `nth`, from zero, where there are several.

        Raises:
            ScheduleError: there is none.
        """
        found = [tensor for tensor in self.tensors if tensor.name == name]
        if not 0 <= nth < len(found):
            refuse(f"the program has no tensor '{name}'")
        return found[nth]

    # --- padding -----------------------------------------------------------------------------------------------

    def pad_loop(self, loop: Loop, multiple: int) -> None:
        """Run a loop up to a multiple; the padded iterations are unused, and storage must extend as far.

        Reads beyond the end of a row are zero. The loops of a reduction cannot be padded: it would change the value.

        Raises:
            ScheduleError: it is the loop of a reduction, or the multiple is less than 1; storage that is too short is
                refused when loops are made.
        """
        what = f"pad_loop: cannot pad loop '{loop.name}'"
        self._decide(what, multiple)
        self._own(loop.tensor, what)
        if loop.position >= len(loop.tensor.dims):
            refuse(
                what,
                because="it is the loop of a reduction: more of it would be another value",
                fix="split it with a peeled tail",
            )
        self._require_own_nest(what, loop.tensor, loop.position)
        require_known(what, loop.tensor, loop.position, self.decisions, multiple)
        self.decisions.loops[loop.tensor, loop.position] = multiple
        self._note("pad_loop", self._loop_text(loop), str(multiple))

    def pad_dimension(self, dim: TensorDim, multiple: int) -> None:
        """Store a dimension up to a multiple. Inputs must be stored so: `x.with_padding(...)`.

        Raises:
            ScheduleError: the dimension is of no tensor here, or the multiple is less than 1; or callers' arrays have
                no padding there: they are NumPy's, or another extent depends on the dimension.
        """
        tensor = _tensor(dim)
        what = f"pad_dimension: cannot pad dimension '{dim.dim.name}' of '{tensor.name}'"
        self._own(tensor, what)
        self._decide(what, multiple)
        if tensor in self.decisions.groups:
            refuse(what, because="its dimensions are stored in an order of their own", fix="pad it first")
        self._require_own_nest(what, tensor, dim.position)
        require_stored_known(what, tensor, dim.position, multiple)
        given = tensor.kind is not Kind.COMPUTED
        if given or tensor in self.outputs:
            require_shown_alike(what, tensor, dim.position, multiple, given=given)
        self.decisions.storage[tensor, dim.position] = multiple
        self._note("pad_dimension", self._dim_text(dim), str(multiple))

    # --- where operators are computed --------------------------------------------------------------------------

    def compute_at(self, tensor: RaggedTensor, loop: Loop) -> None:
        """Compute a tensor inside a loop of the nest that reads it, and store one iteration of it.

        Its outermost dimensions must be those of the loops around, and every read must be at their indices. Reductions
        inside its expression, or inside the loop's that read it, are computed there too.

        Raises:
            ScheduleError: it is an output, its dimensions are others, or something outside of the loop reads it.
        """
        what = f"compute_at: cannot compute '{tensor.name}' in loop '{loop.name}' of '{loop.tensor.name}'"
        self._own(tensor, what)
        self._own(loop.tensor, what)
        self._decide(what, 1)
        if tensor.kind is not Kind.COMPUTED:
            refuse(what, because="callers give it: it is not computed")
        depth = loop.position + 1
        require_undecided(what, tensor, depth, self.decisions)
        before = dict(self.decisions.at)
        take_parts_along(loop.tensor, depth, self.decisions, reading=tensor)
        try:
            check_attached(what, tensor, loop.tensor, depth, self.tensors, self.outputs, self.decisions)
            for position in range(depth):
                multiple = self.decisions.multiple(loop.tensor, position)
                require_known(what, tensor, position, self.decisions, multiple)
        except ScheduleError:
            self.decisions.at.clear()
            self.decisions.at.update(before)
            raise
        self.decisions.at[tensor] = (loop.tensor, depth)
        take_parts_along(tensor, depth, self.decisions)
        self._note("compute_at", self._tensor_text(tensor), self._loop_text(loop))

    # --- dimensions --------------------------------------------------------------------------------------------

    def split_dimension(self, dim: TensorDim, factor: int) -> tuple[Piece, Piece]:
        """Store a dimension as two: blocks, and the `factor` elements of a block; returns both.

        They can be reordered: `reorder_dimensions(b, blocks, w, elements)`. The last block of a row is stored whole.

        Raises:
            ScheduleError: the tensor is an input, the dimension is split or fused already, or the factor is less than
                1; or it is an output, which would expose the padding of the last block to callers.
        """
        tensor = self._computed("split_dimension", dim)
        what = f"split_dimension: cannot split '{dim.dim.name}' of '{tensor.name}' into blocks of {factor}"
        self._decide(what, factor)
        if tensor in self.outputs and not is_whole(dim.extent, factor):
            refuse(what, because="it is an output, and its last block would not be full")
        groups = list(pieces_of(tensor, self.decisions))
        if (Piece(dim.position),) not in groups or tensor in self.decisions.bulk:
            refuse(what, because="it is split or fused already")
        outer, inner = Piece(dim.position, factor), Piece(dim.position, factor, inner=True)
        place = groups.index((Piece(dim.position),))
        groups[place : place + 1] = [(outer,), (inner,)]
        self.decisions.groups[tensor] = tuple(groups)
        self._note("split_dimension", self._dim_text(dim), str(factor))
        return outer.of(tensor), inner.of(tensor)

    def fuse_dimensions(self, outer: TensorDim, inner: TensorDim, pad: int = 1) -> None:
        """Store two adjacent dimensions as one: dense ones, the blocks of a split dimension, or rows of any length.

        Rows are packed in any case; with `pad` all of them together are stored up to a multiple (bulk padding, CoRa,
        section 4.1), as far as `fuse_loops(..., pad=...)` runs.

        Raises:
            ScheduleError: they are not adjacent dimensions of one tensor, or padded and not rows of different lengths;
                dimensions that do not fuse are refused when loops are made.
        """
        tensor = self._computed("fuse_dimensions", outer, inner)
        names = f"'{outer.dim.name}' and '{inner.dim.name}' of '{tensor.name}'"
        what = f"fuse_dimensions: cannot store {names}"
        self._decide(what, pad)
        varies = linear_uses(inner.extent.expr, outer.dim.var)
        pair = (outer.dim.var, outer.extent.expr), (inner.dim.var, inner.extent.expr)
        if inner.position == outer.position + 1 and varies and fused_pair(*pair) is None:
            self._fuse_rows(what, tensor, outer, inner, pad)
            return
        if pad > 1:
            refuse(
                f"{what} up to a multiple of {pad}",
                because="they are not rows of different lengths",
                fix=f"pad_dimension({tensor.name}.dims[{outer.position}], ...)",
            )
        if tensor in self.outputs:
            require_unpadded(what, tensor, self.decisions)
        groups = list(pieces_of(tensor, self.decisions))
        mine, other = Piece(outer.position), Piece(inner.position)
        first = next((k for k, group in enumerate(groups) if group[-1] == mine), len(groups))
        if first + 1 >= len(groups) or groups[first + 1][0] != other:
            refuse(f"fuse_dimensions: {names} are not stored side by side, in this order")
        groups[first : first + 2] = [(*groups[first], *groups[first + 1])]
        self.decisions.groups[tensor] = tuple(groups)
        self._note("fuse_dimensions", self._dim_text(outer), self._dim_text(inner))

    def _fuse_rows(
        self, what: str, tensor: RaggedTensor, outer: TensorDim, inner: TensorDim, multiple: int
    ) -> None:
        if tensor in self.decisions.groups:
            refuse(what, because="its dimensions are stored in an order of their own")
        self.decisions.bulk[tensor] = (outer.position, inner.position, multiple)
        pad = [f"pad={multiple}"] if multiple > 1 else []
        self._note("fuse_dimensions", self._dim_text(outer), self._dim_text(inner), *pad)

    def reorder_dimensions(self, *dims: TensorDim | Piece) -> None:
        """Store a tensor's dimensions in this order; fused ones go by their first, split ones by their two parts.

        Raises:
            ScheduleError: they are not all of one tensor, or an extent would come before what it depends on.
        """
        tensor = self._computed("reorder_dimensions", *dims)
        groups = {group[0]: group for group in pieces_of(tensor, self.decisions)}
        pieces = [_piece(each) for each in dims]
        names = ", ".join(each.name(tensor) for each in pieces)
        if len(pieces) != len(groups) or set(pieces) != set(groups):
            refuse(f"reorder_dimensions: ({names}) are not all dimensions of '{tensor.name}', each once")
        what = f"reorder_dimensions: cannot store '{tensor.name}' in the order ({names})"
        if tensor in self.decisions.bulk:
            refuse(what, because="its rows are stored as one dimension, one after another")
        if tensor in self.outputs:
            require_unpadded(what, tensor, self.decisions)
        known: set[int] = set()
        for piece in pieces:
            for part in groups[piece]:
                require_before(what, tensor, part, known)
                known.add(part.position)
        self.decisions.groups[tensor] = tuple(groups[each] for each in pieces)
        self._note("reorder_dimensions", *(self._piece_text(tensor, each) for each in pieces))

    # --- guards and the log --------------------------------------------------------------------

    def _own(self, tensor: RaggedTensor, what: str) -> None:
        if tensor not in self.tensors:
            refuse(what, because=f"'{tensor.name}' is not of this program")

    def _decide(self, what: str, multiple: int) -> None:
        if type(multiple) is not int or multiple < 1:
            refuse(what, because=f"{multiple!r} is no multiple")
        if self.decided:
            refuse(
                what,
                because="the loops have been made",
                fix="decide on storage and padding before loops are rewritten or printed",
            )

    def _computed(self, what: str, *dims: TensorDim | Piece) -> RaggedTensor:
        tensors = {each.tensor for each in dims}
        tensor = next(iter(tensors)) if len(tensors) == 1 else None
        if tensor is None or tensor.kind is not Kind.COMPUTED or tensor not in self.tensors:
            refuse(
                f"{what}: the dimensions are not of one tensor that is computed here",
                because="inputs are stored as callers hold them",
            )
        self._decide(what, 1)
        self._require_own_nest(what, tensor, 0)
        return tensor

    def _require_own_nest(self, what: str, tensor: RaggedTensor, position: int) -> None:
        """Refuse a decision on a dimension or loop that belongs to the nest that the tensor is computed in."""
        reader, depth = self.decisions.at.get(tensor, (tensor, 0))
        if position < depth:
            refuse(
                what,
                because=f"'{tensor.name}' is computed in the loops of '{reader.name}', and stored for one iteration",
                fix=f"decide on the loops and the storage of '{reader.name}'",
            )

    def _note(self, name: str, *arguments: str) -> None:
        self._decided.append(f"s.{name}({', '.join(arguments)})")

    def _tensor_text(self, tensor: RaggedTensor) -> str:
        same = [each for each in self.tensors if each.name == tensor.name]
        nth = f", {same.index(tensor)}" if len(same) > 1 else ""
        return f"s.tensor({tensor.name!r}{nth})"

    def _loop_text(self, loop: Loop) -> str:
        return f"{self._tensor_text(loop.tensor)}.loops[{loop.position}]"

    def _dim_text(self, dim: TensorDim) -> str:
        return f"{self._tensor_text(_tensor(dim))}.dims[{dim.position}]"

    def _piece_text(self, tensor: RaggedTensor, piece: Piece) -> str:
        dim = self._dim_text(tensor.dims[piece.position])
        return dim if piece.factor == 1 else f"s.piece({dim}, {piece.factor}, inner={piece.inner})"

    def piece(self, dim: TensorDim, factor: int, *, inner: bool) -> Piece:
        """Return one of the two parts of `split_dimension(dim, factor)`: its blocks, or the elements of a block."""
        return Piece(dim.position, factor, inner).of(_tensor(dim))


def _tensor(dim: TensorDim) -> RaggedTensor:
    assert dim.tensor is not None, "the dimensions of a tensor know it"
    return dim.tensor


def _piece(dim: TensorDim | Piece) -> Piece:
    return dim if isinstance(dim, Piece) else Piece(dim.position).of(_tensor(dim))
