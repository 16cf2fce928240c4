"""Whether an iteration may run again: it then stores what it stored the first time."""

from __future__ import annotations

from ragged.analysis.accesses import BufferAccess, UseKind, common_depth, uses_in
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Role
from ragged.ir.sites import Branch, Site, sites_in
from ragged.ir.stmt import Alloc, Barrier, For
from ragged.ir.walk import written


def require_repeatable(site: Site, what: str) -> None:
    """Return if an iteration of the loop at `site` that runs again leaves what it left the first time.

    Each element that it reads and writes is stored by the same iteration before it is read: by a store with the same
    indices in loops that are around the read too, or by loops that end before it.

    Raises:
        ScheduleError: that is not so; `what` is the refusal.
    """
    loop = site.stmt
    assert isinstance(loop, For)
    for inner in sites_in(site):
        if isinstance(inner.stmt, Barrier):
            raise ScheduleError(what, because="a barrier stands in it")
    own = {inner.stmt.buffer for inner in sites_in(site) if isinstance(inner.stmt, Alloc)}
    for buffer in written(loop) - own:
        if buffer.aliases is not None or buffer.role is Role.LOCAL:
            raise ScheduleError(what, because=f"'{buffer.name}' is local to what is around it, or an alias")
        _require_stored_first(site, buffer, what)


def _require_stored_first(site: Site, buffer: Buffer, what: str) -> None:
    uses = uses_in(site, buffer)
    depth = len(site.around) + 1
    for read in uses:
        if read.kind is UseKind.STORE:
            continue
        if not any(_stores_before(store, read) for store in uses) and not _all_before(uses, read, depth):
            raise ScheduleError(
                what,
                because=f"an iteration reads '{buffer.name}' before it writes it, and would read what it wrote",
                fix="Tail.PEEL",
            )


def _stores_before(store: BufferAccess, read: BufferAccess) -> bool:
    """True if each time that `read` runs, `store` has stored the same element in the same iterations."""
    if store.kind is not UseKind.STORE or store.order >= read.order or not store.certain:
        return False
    around = store.site.around
    same_loops = common_depth(store.site, read.site) == len(around)
    return store.indices == read.indices and same_loops


def _all_before(uses: list[BufferAccess], read: BufferAccess, depth: int) -> bool:
    """True if all that writes the buffer ends before the loops around `read`, below `depth`, begin."""
    for use in uses:
        if not use.writes:
            continue
        shared = common_depth(use.site, read.site)
        inner = use.site.around[depth:shared]
        if use.order >= read.order or any(isinstance(outer, For) for outer in inner):
            return False
        if any(isinstance(outer, Branch) for outer in use.site.around[depth:]):
            return False
    return True
