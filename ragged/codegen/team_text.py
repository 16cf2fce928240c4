"""What generated code needs to walk with others, as LLVM IR: the barrier, and the claim to report a failure.

Both work on the status words of a call (`ragged.codegen.entry`): the first is not zero once a check has failed, the
second counts arrivals at barriers. They share a cache line: a worker that waits at a barrier sees failures at no cost.
"""

from __future__ import annotations

_PAUSE = {"x86_64": "pause", "aarch64": "yield"}
_PATIENCE = 20_000
"""How often a worker looks before it sleeps, since others may need its processor to come here.

It takes some 300 us, and must take longer than waking up: else two workers that are never late by more than that would
wait for each other's sleep at each barrier, for ever.
"""
_REST_US = 1
"""How long it sleeps between looks; with waking up it is 60 us. It does not yield: since Linux 6.18 that costs its turn
for milliseconds."""

CLAIM = """\
define i32 @ragged_claim(ptr %status, i64 %code) {
  %pair = cmpxchg ptr %status, i64 0, i64 %code monotonic monotonic
  %won = extractvalue { i64, i1 } %pair, 1
  %result = zext i1 %won to i32
  ret i32 %result
}
"""
"""Puts a code into the first status word unless one stands there; 1 if it did."""


def barrier_name(shared: int) -> str:
    """Return the name of the barrier over so many shared buffers."""
    return f"ragged_barrier_{shared}"


def barrier_text(shared: int, processor: str) -> str:
    """Return LLVM IR of a barrier: `i32 (status, workers, buffers...)`, 0 once all are here, 1 if a check has failed.

    Each arrival takes a ticket; a round ends when its last ticket is taken. Acquire and release order the memory
    accesses of the workers. LLVM could still forward loads across the barrier, since buffers that a stage writes are
    `noalias` and do not escape: so the address of each goes to an empty assembly statement that clobbers memory, one
    statement per buffer because a single one could need too many registers. With one worker the barrier is one
    comparison.
    """
    parameters = "".join(f", ptr %b{i}" for i in range(shared))
    fence = "\n  ".join(f'call void asm sideeffect "", "r,~{{memory}}"(ptr %b{i})' for i in range(shared))
    pause = f'call void asm sideeffect "{_PAUSE.get(processor, "")}", "~{{memory}}"()'
    return f"""\
declare i32 @usleep(i32)
define i32 @{barrier_name(shared)}(ptr %status, i64 %workers{parameters}) {{
entry:
  %alone = icmp sle i64 %workers, 1
  br i1 %alone, label %met, label %arrive
arrive:
  {fence}
  %tickets = getelementptr i64, ptr %status, i64 1
  %mine = atomicrmw add ptr %tickets, i64 1 acq_rel
  %round = udiv i64 %mine, %workers
  %next = add i64 %round, 1
  %last = mul i64 %next, %workers
  br label %look
look:
  %looks = phi i64 [ 0, %arrive ], [ %more, %wait ], [ %more, %rest ]
  %more = add i64 %looks, 1
  %taken = load atomic i64, ptr %tickets acquire, align 8
  %complete = icmp uge i64 %taken, %last
  br i1 %complete, label %go, label %incomplete
incomplete:
  %failure = load atomic i64, ptr %status monotonic, align 8
  %failed = icmp ne i64 %failure, 0
  br i1 %failed, label %stop, label %patience
patience:
  %patient = icmp ult i64 %looks, {_PATIENCE}
  br i1 %patient, label %wait, label %rest
wait:
  {pause}
  br label %look
rest:
  %ignored = call i32 @usleep(i32 {_REST_US})
  br label %look
go:
  {fence}
  br label %met
met:
  ret i32 0
stop:
  ret i32 1
}}
"""
