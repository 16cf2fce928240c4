"""From structures to arrays: options are checked once, and each batch is read by the native extension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cortex.ilir.index_arrays import IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.linearize import faults
from cortex.linearize.extension import Engine
from cortex.linearize.faults import Names
from cortex.linearize.faults.payloads import with_given_names
from cortex.linearize.options import check_max_nodes, check_names, check_payloads, check_vocab
from cortex.linearize.result import Linearized
from cortex.linearize.unread import report_unread
from cortex.linearize.vocab import Vocab
from ragged.errors import DataError

MAX_NODES = 2**26
"""The most nodes, and edges, of a batch by default: about 4 GB, at 60 bytes for a node with one word."""


class Linearizer:
    """Turns batches of structures into the arrays of one plan; made once for a model, called for each batch.

    `vocab` numbers the words of bracketed strings and labelled trees. `children` names the attribute that holds a
    node's children ("kids"), or one attribute for each child (("l", "r")); by default `children`, or else `left` and
    `right`. Of a node that is a dict these are keys. `payloads` names the attribute, or key, of a payload that has
    another name in the model. A batch has at most `max_nodes` nodes, and as many edges.
    Calls share nothing, so many threads may use one.
    """

    __slots__ = ("_engine", "_options", "_reported", "plan")

    def __init__(
        self,
        plan: Plan,
        *,
        vocab: Vocab | None = None,
        children: Names = None,
        payloads: Mapping[str, str] | None = None,
        max_nodes: int = MAX_NODES,
    ) -> None:
        self.plan = plan
        renamed = check_payloads(payloads, plan)
        self._options = (vocab, children, renamed)
        self._reported = False  # what the model does not read
        self._engine = Engine(
            plan,
            index_arrays(plan),
            check_vocab(vocab),
            check_names(children),
            check_max_nodes(max_nodes),
            Linearized,
        )
        if renamed:
            self._engine.rename_payloads([renamed.get(each.name, each.name) for each in plan.payloads])

    def __call__(self, data: object) -> Linearized:
        """Return the arrays of a batch (a list) or of one structure; `DataError` where the plan forbids it."""
        if isinstance(data, Linearized):
            return data if data.plan is self.plan else _of_plan(data, self.plan)
        return self.borrow(data, ())

    def with_max_nodes(self, max_nodes: int) -> Linearizer:
        """Return this linearizer with another limit; `DataError` where `max_nodes` is not in 1 to 2**31 - 1."""
        vocab, children, payloads = self._options
        return Linearizer(self.plan, vocab=vocab, children=children, payloads=payloads, max_nodes=max_nodes)

    def borrow(self, data: object, names: tuple[str, ...]) -> Linearized:
        """Return the arrays of a batch, with payloads of these names borrowed from the caller where that is possible.

        A payload is borrowed if all its values stand in NumPy arrays. It is one range of memory, (elements,), from the
        lowest of its values on, of which only the elements from `begin_of_` on may be read. It is kept alive by the
        result, and must not be changed before it is read.
        """
        if isinstance(data, Linearized):
            return self(data)
        try:
            linearized = self._engine.linearize(data, names)
        except DataError as error:
            raise with_given_names(error, self._options[2]) from None
        if not self._reported:
            self._reported = True
            report_unread(self.plan, *self._options[:2], data)
        return linearized


def _of_plan(data: Linearized, plan: Plan) -> Linearized:
    """Return a batch of another plan as one of `plan`; `DataError` if kernels would read it otherwise.

    Kernels do not depend on the width of batches. A batch without storage rows gets one for each node, in each call:
    linearize for the function to save that.
    """
    given, wanted = (replace(each, recycled=False, widest=None) for each in (data.plan, plan))
    if given != wanted:
        raise faults.other_plan(data.plan, plan)
    if data.plan.recycled or not plan.recycled:
        return data
    rows = np.arange(data.num_nodes, dtype=np.int32)
    storage = {
        IndexKind.STORAGE_ROWS.value: data.num_nodes,
        IndexKind.STORAGE_BEGIN.value: data.batch_begin,
        IndexKind.STORAGE_ROW.value: rows,
    }
    return replace(data, plan=replace(data.plan, recycled=True), _arrays={**data.arrays, **storage})


def linearize(
    plan: Plan,
    data: object,
    *,
    vocab: Vocab | None = None,
    children: Names = None,
    payloads: Mapping[str, str] | None = None,
    max_nodes: int = MAX_NODES,
) -> Linearized:
    """Turn structures into the arrays that a kernel of this plan walks.

    Args:
        plan: what the model asks of structures; see `cortex.ilir.plan`.
        data: a list is a batch, anything else is one structure: a `Node` or any object with `children`, or with
            `left` and `right`, or a dict of such keys; nested tuples of ints; a bracketed string or an `nltk.Tree`; a
            1-D array of integers or a 2-D array of floats (a sequence); a `networkx.DiGraph`; a `Forest`, which holds
            any number of structures; a `Linearized` of an equal plan, which is returned as it is; one without rows of
            storage is given a row for each node, if the plan is recycled.
        vocab: the numbers of the words in bracketed strings.
        children: the name of the attribute that holds the children, or a tuple with one name for each.
        payloads: the name of a payload's attribute where that differs, as in {"word": "token_id"}.
        max_nodes: the most nodes that a batch may have, and the most edges; up to 2**31 - 1.

    Returns:
        A `Linearized` that owns its arrays.

    Raises:
        DataError: what the plan does not allow, with the structure, the node and the reason.

    >>> from cortex.ilir.plan import StructureKind
    >>> linearize(Plan(StructureKind.TREE, 2, 2, (), (0, 1)), (7, (8, 9))).rows.tolist()
    [2, 3, 4, 1, 0]
    """
    return Linearizer(plan, vocab=vocab, children=children, payloads=payloads, max_nodes=max_nodes)(data)
