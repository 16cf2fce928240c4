"""Rows of a tensor in tiles: the rows of a tile are computed together, in the lanes of vectors."""

from __future__ import annotations

from ragged.api.decide import DecisionSchedule
from ragged.api.program import ScheduleDecisions, reads, refuse, tensors_of
from ragged.api.row_groups import row_group
from ragged.api.tensors import RaggedTensor, TensorDim
from ragged.api.tiled_tensors import TiledTensors
from ragged.errors import ScheduleError


class TilingSchedule(DecisionSchedule):
    """Decisions with one that tiles rows."""

    def tile_rows(self, dim: TensorDim, rows: int) -> RaggedTensor:
        """Compute a tensor, with all that only its own rows read, in tiles of `rows` rows; return the tensor.

        before::

            s(b, t, u) = sum(64, d: q[b, t, d] * k[b, u, d])
            y(b, t, e) = sum(n(b), u: s[b, t, u] * v[b, u, e])

        after `tile_rows(y.dims[1], 32)`, all inside the loop over tiles but for the copies of `k` and `v`::

            s_k(b, u, d) = k[b, u, d]
            y_v(b, u, e) = v[b, u, e]
            s_q(b, i, d, w) = q[b, min(i * 32 + w, n(b) - 1), d]
            s(b, i, u, w) = sum(64, d: s_q[b, i, d, w] * s_k[b, u, d])
            y_sum(b, i, w, e) = sum(n(b), u: s[b, i, u, w] * y_v[b, u, e])
            y(b, i, w < min(32, n(b) - i * 32), e) = y_sum[b, i, w, e]

        Lanes beyond the last row repeat it, and are not stored. Each element is computed as before, sums in their
        order. Tensors that are computed with the rows are replaced; the result is stored as before. Factors of
        products are copied: to the tile, or, where they are the same for all rows, outside of the loop over tiles.

        Raises:
            ScheduleError: the tensor is no computed one, has decisions already, or an extent depends on the row.
        """
        tensor = self._computed("tile_rows", dim)
        what = f"tile_rows: cannot tile '{dim.dim.name}' of '{tensor.name}'"
        self._decide(what, rows)
        group = row_group(what, tensor, dim.position, self.tensors, self.outputs)
        if not group.outer:
            refuse(what, because="its rows are in no dimension that all tensors computed with them have")
        own = self.decisions
        decided = {each for each in (*own.at, *own.groups) if not each.part}
        decided |= {at for each, (at, _) in own.at.items() if not each.part}
        if own.loops or own.storage or own.bulk or not decided.isdisjoint(group.places):
            refuse(
                what,
                because="how tensors are padded, or its rows computed, has been decided on",
                fix="tile first",
            )
        text = f"s.tile_rows({self._dim_text(dim)}, {rows})"
        before = self.outputs, self.tensors, self.decisions, self._decided
        try:
            made = self._tile(TiledTensors(group, rows))
        except ScheduleError:
            self.outputs, self.tensors, self.decisions, self._decided = before
            raise
        self._decided = [*before[3], text]
        return made

    def _tile(self, tiling: TiledTensors) -> RaggedTensor:
        """Replace the tensors of a group, and decide where the new ones are computed and how the result is stored."""
        result = tiling.build()
        new = {old: made for old, (made, _) in tiling.new.items()}
        for tensor in self.tensors:
            if tensor not in new and not new.keys().isdisjoint(reads(tensor)):
                new[tensor] = tiling.reader(tensor, new)
        own = self.decisions

        def now(tensor: RaggedTensor) -> RaggedTensor:
            return new.get(tensor, tensor)

        self.outputs = tuple(map(now, self.outputs))
        self.tensors = tensors_of(self.outputs)
        at = {  # what a row of the group needs and is in none of its loops is computed for all rows
            now(t): (now(at), n) for t, (at, n) in own.at.items() if tiling.new.keys().isdisjoint((t, at))
        }
        self.decisions = ScheduleDecisions(at=at, groups={now(t): each for t, each in own.groups.items()})
        self._decided = []
        depth = len(tiling.group.outer)
        for each in reversed(tiling.in_tile):
            self.compute_at(each, result.loops[depth])
        for each in tiling.shared:
            self.compute_at(each, result.loops[depth - 1])
        self.fuse_dimensions(result.dims[depth], result.dims[depth + 1])
        self.reorder_dimensions(*(result.dims[place] for place in tiling.stored()))
        return result
