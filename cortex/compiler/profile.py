"""Where the time of a call goes."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.compiled.profile import Spread


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of a call, each timed by itself, and the whole of it from the caller's own objects to the result.

    `linearize_us` makes arrays of structures; `prelude_us` checks what the kernel assumes of them; `kernel_us` is the
    kernel alone; `total_us` a call from beginning to end. `bind_us` is what binding the parameters took, once and no
    part of a call; `table_bytes` are those of the tables over what nodes carry that were made then.
    """

    structures: int
    nodes: int
    batches: int
    linearize_us: Spread
    prelude_us: Spread
    kernel_us: Spread
    total_us: Spread
    bind_us: float
    table_bytes: int

    def __str__(self) -> str:
        tables = (
            f"bind      {self.bind_us:.0f} us, {self.table_bytes:,} bytes of tables\n"
            if self.table_bytes
            else ""
        )
        return tables + (
            f"{self.structures} structures, {self.nodes} nodes in {self.batches} batches\n"
            f"linearize {self.linearize_us}\nprelude   {self.prelude_us}\n"
            f"kernel    {self.kernel_us}\ntotal     {self.total_us}"
        )
