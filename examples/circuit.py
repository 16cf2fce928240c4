"""Circuits in the binary format of AIGER (Biere, Heljanko, Wieringa 2011), as DAGs of inputs, AND and NOT gates.

A circuit's literals are the nodes of a `networkx.DiGraph`: 2 v is the variable v, and 2 v + 1 its negation. From the
root of the repository:

    python examples/circuit.py
"""

from typing import Any

import networkx as nx
import numpy as np

import cortex
from cortex import models, ra

KINDS = ["input", "and", "not"]
# A full adder: of the literals 2, 4 and 6 the sum is 18, and the carry 21.
ADDER = b"aig 10 3 0 2 7\n18\n21\n" + bytes([4, 2, 5, 2, 1, 2, 2, 6, 3, 6, 1, 2, 5, 6])


def read_aiger(data: bytes) -> Any:
    """Return the graph of a circuit, with an edge from each gate to each of its operands and `kind` at each node."""
    header, rest = data.split(b"\n", 1)
    _, inputs, latches, outputs, ands = map(int, header.split()[1:])
    *lines, gates = rest.split(b"\n", latches + outputs)
    stream, graph = iter(gates), nx.DiGraph()

    def delta() -> int:  # seven bits a byte, the lowest first; the last byte is below 128
        byte = next(stream)
        return byte if byte < 128 else byte - 128 + 128 * delta()

    for gate in range(2 * (1 + inputs + latches), 2 * (1 + inputs + latches + ands), 2):
        left = gate - delta()
        graph.add_edges_from([(gate, left), (gate, left - delta())])
    graph.add_nodes_from(int(line.split()[-1]) for line in lines)
    graph.add_edges_from([(literal, literal - 1) for literal in graph if literal % 2])
    for literal, attributes in graph.nodes(data=True):
        attributes["kind"] = 2 if literal % 2 else int(graph.out_degree(literal) > 0)
    return graph


def main() -> None:
    """Compile a network over DAGs, run it over the adder, and compare it with the oracle."""
    graph = read_aiger(ADDER)
    model = models.dag_rnn(hidden=16, embed=8, input="word", vocab=len(KINDS))
    params = model.init_params(seed=0)
    out = cortex.compile(model, params, payloads={"word": "kind"})(graph)
    oracle: Any = ra.evaluate(model, params, graph, payloads={"word": "kind"})
    assert np.abs(out.nodes("h")[0] - oracle["h"]).max() <= 1e-5
    print(" ".join(f"{node}:{KINDS[graph.nodes[node]['kind']]}" for node in out.keys(0)))
    print(f"outputs: {out['h'].shape[0]} roots of {len(graph)} nodes")


if __name__ == "__main__":
    main()
