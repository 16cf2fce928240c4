"""Profile of a model's calls."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.compiled.profile import Spread


@dataclass(frozen=True, slots=True)
class Profile:
    """Times of the parts of a call, and of the whole call from the caller's objects to the result.

    `linearize_us` turns structures into arrays; `prelude_us` checks the kernel's assumptions about them; `kernel_us`
    is the kernel alone. `levels` counts the groups of nodes of one height, or of fewer, that the kernel goes through
    one after another. `bind_us` is the time of binding the parameters, once for all calls; `table_bytes` are those of
    tables over payloads that binding fills.
    """

    structures: int
    nodes: int
    levels: int
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
            f"{self.structures} structures, {self.nodes} nodes in {self.levels} levels\n"
            f"linearize {self.linearize_us}\nprelude   {self.prelude_us}\n"
            f"kernel    {self.kernel_us}\ntotal     {self.total_us}"
        )
