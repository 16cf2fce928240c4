from collections.abc import Sequence

from cortex.ilir.index_arrays import IndexArray
from cortex.ilir.plan import Plan
from cortex.linearize.faults import Names
from cortex.linearize.node import Node
from cortex.linearize.result import Linearized
from cortex.linearize.vocab import Vocab

class Engine:
    def __init__(
        self,
        plan: Plan,
        requests: Sequence[IndexArray],
        vocab: Vocab | None,
        children: Names,
        limit: int,
        result: type[Linearized],
    ) -> None: ...
    def rename_payloads(self, names: Sequence[str]) -> None: ...
    def linearize(self, data: object, borrowed: tuple[str, ...]) -> Linearized: ...

def parse_ptb(text: str, origin: str, vocab: Vocab | None) -> list[Node]: ...
