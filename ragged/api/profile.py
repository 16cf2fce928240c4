"""Where the time of a call goes."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.compiled.profile import Spread


@dataclass(frozen=True, slots=True)
class RaggedProfile:
    """The parts of a call, each timed by itself, and how much is computed and moved.

    `prelude_us` makes the tables of lengths that were not seen before; `kernel_us` is the kernel alone; `total_us` a
    call from beginning to end whose lengths were seen before. `flops` counts operations on floats in the operators as
    they were written. `bytes` are those of arguments, parameters and results, each once; `table_bytes` of tables and
    lengths; `workspace_bytes` of what is kept in between.
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
