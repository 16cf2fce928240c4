"""How structures are read, in plain Python, slowly: the same errors as `cortex.linearize`, and no code shared with it.

The oracle reads structures through `read_structures` and `payload_value`, so that it shares no code with what it
checks. Nothing else that runs uses it. The tests build the specification of the native linearizer on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from cortex.ilir.plan import Payload
from cortex.linearize import faults
from cortex.linearize.reference.payloads import read_payload
from cortex.linearize.reference.reading import read_structures
from cortex.linearize.reference.structures import Structure, StructureNode, place_of

__all__ = ["Structure", "StructureNode", "check_carried", "payload_value", "read_structures"]


def payload_value(payload: Payload, structure: int, node: StructureNode) -> npt.NDArray[Any]:
    """Return what a node carries, checked, in the payload's dtype and shape; its default where it may lack it.

    `structure` is the index that an error names.
    """
    place = place_of(structure, node)
    return read_payload(payload, node.payload(payload.name), node.is_leaf, node.key, place)


def check_carried(
    payloads: Iterable[Payload], nodes: Sequence[StructureNode], renamed: Mapping[str, str] | None
) -> None:
    """Refuse a batch in which no node carries a payload that each may lack; `renamed` has other names by payload."""
    for payload in payloads:
        if nodes and not any(node.names_payload(payload.name) for node in nodes):
            raise faults.carried_nowhere(
                payload, nodes[0].key, (renamed or {}).get(payload.name, payload.name)
            )
