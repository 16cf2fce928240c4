"""Profile of a ragged function's calls."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.compiled.profile import Spread


@dataclass(frozen=True, slots=True)
class RaggedProfile:
    """Times of the parts of a call, and the amounts of computation and data.

    `prelude_us` fills the tables of new lengths; `kernel_us` is the kernel alone; `total_us` a whole call with cached
    tables. `flops` counts operations on floats of the operators as written. `bytes` are those of arguments, parameters
    and results, `table_bytes` of tables and lengths, `workspace_bytes` of workspaces.
    """

    prelude_us: Spread
    kernel_us: Spread
    total_us: Spread
    flops: int
    bytes: int
    table_bytes: int
    workspace_bytes: int

    @property
    def gflops(self) -> float:
        """Billions of operations on floats in a second of the kernel."""
        return self.flops / self.kernel_us.median / 1000

    def __str__(self) -> str:
        return (
            f"prelude {self.prelude_us}, {self.table_bytes:,} bytes of tables\n"
            f"kernel  {self.kernel_us}, {self.flops:,} FLOPs, {self.gflops:.1f} GFLOP/s\n"
            f"total   {self.total_us}, {self.bytes:,} bytes in and out, {self.workspace_bytes:,} in between"
        )
