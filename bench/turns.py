"""Peers that take turns, so that what changes in the machine meanwhile is shared by all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from bench.process import PeerFailed, ServedProcess

Server = TypeVar("Server", bound=ServedProcess)
Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_turns(
    peers: Sequence[Server],
    batches: Sequence[Batch],
    pause: float,
    measure: Callable[[Server, int, Batch], Result],
    refuse: Callable[[str, str], object],
) -> dict[str, list[Result]]:
    """Return by peer's name what `measure(peer, turn, batch)` gives for each batch; each turn another peer begins.

    Each is waited for `pause` seconds before. A peer that fails is not asked again, and not in the result:
    `refuse(name, why)` is called.
    """
    results: dict[str, list[Result]] = {peer.name: [] for peer in peers}
    for turn, batch in enumerate(batches):
        start = turn % max(1, len(peers))
        for peer in (*peers[start:], *peers[:start]):
            if peer.name not in results:
                continue
            time.sleep(pause)
            try:
                results[peer.name].append(measure(peer, turn, batch))
            except PeerFailed as failure:
                del results[peer.name]
                refuse(peer.name, str(failure))
    return results
