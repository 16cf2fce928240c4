"""What is true of indices and bounds: an SMT solver over integers and uninterpreted functions, without quantifiers.

A proof says which facts it used, so that a call can check them; what is not proven keeps its bound check. `answer` and
`holds` ask about a goal where a statement stands, a `ContextRewriter` where it rewrites.
"""

from ragged.prove.answers import Proof, Unproven
from ragged.prove.at_site import answer, holds
from ragged.prove.context import Context, relevant
from ragged.prove.prover import Prover, prover_of, recording

__all__ = ["Context", "Proof", "Prover", "Unproven", "answer", "holds", "prover_of", "recording", "relevant"]
