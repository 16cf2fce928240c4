"""A compiler for models that recurse over trees, DAGs and sequences.

    import cortex
    from cortex import models

    model = models.tree_lstm(hidden=256, embed=300, vocab=20_000)
    fn = cortex.compile(model, model.init_params(seed=0))
    fn([((1, 2), 3), (4, 5)])["h"]      # (2, 256): a row for each tree

Models are written in the Recursive API, `cortex.ra`, or taken from `cortex.models`.
"""

from cortex import models, ra
from cortex.compiler import Output, RecursiveFunction, compile, load, loop_schedule
from cortex.compiler.options import RecursionOptions
from cortex.linearize import CyclicSentence, Forest, Linearized, Node, Vocab, read_conllu, read_ptb
from cortex.models import from_torch
from cortex.tuning import Tuning, tune
from ragged.errors import DataError, InternalError, ModelError, ScheduleError, UserError
from ragged.front_ends import register_front_end

register_front_end(__name__)

__all__ = [
    "CyclicSentence",
    "DataError",
    "Forest",
    "InternalError",
    "Linearized",
    "ModelError",
    "Node",
    "Output",
    "RecursionOptions",
    "RecursiveFunction",
    "ScheduleError",
    "Tuning",
    "UserError",
    "Vocab",
    "compile",
    "from_torch",
    "load",
    "loop_schedule",
    "models",
    "ra",
    "read_conllu",
    "read_ptb",
    "tune",
]
