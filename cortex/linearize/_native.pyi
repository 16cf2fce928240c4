from typing import Any

from cortex.ilir.plan import Plan
from cortex.linearize.faults import Names
from cortex.linearize.node import Node
from cortex.linearize.vocab import Vocab

class Engine:
    def __init__(self, plan: Plan, vocab: Vocab | None, children: Names, limit: int) -> None: ...
    def linearize(self, data: object) -> tuple[Any, ...]: ...

def parse_ptb(text: str, origin: str, vocab: Vocab | None) -> list[Node]: ...
