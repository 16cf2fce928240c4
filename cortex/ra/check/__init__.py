"""The rules of the language: one small check for each, with a message that names the expression.

P.1 to P.3 are the properties that CORTEX (section 2) requires of a model: control flow depends on the structure
alone; recursive calls are made at a node's children, before its own work; sibling calls are independent.
"""

from __future__ import annotations

from cortex.ra.check.after import check_after_computes, check_structures_after
from cortex.ra.check.arity import (
    check_no_child_at_leaf,
    check_positions_in_arity,
)
from cortex.ra.check.branches import (
    check_branch_shapes,
    check_conditions_are_logical,
    check_conditions_structural,
)
from cortex.ra.check.calls import (
    check_calls_at_children,
    check_computes_at_own_node,
    check_no_grandchildren,
    check_siblings_independent,
)
from cortex.ra.check.heads import check_heads_at_roots, check_heads_named
from cortex.ra.check.outputs import (
    check_any_output,
    check_computes_are_numbers,
    check_names_distinct,
    check_output_shapes,
    check_placeholders_distinct,
    check_placeholders_known,
    check_recursive,
)
from cortex.ra.check.ranges import check_defaults_in_range, check_indices_in_range, check_payloads_possible
from cortex.ra.check.reads import check_index_kinds, check_rank, check_scope
from cortex.ra.collect import Recursion

CHECKS = (
    # What the later ones take for granted comes first: outputs, then each read by itself.
    check_any_output,
    check_placeholders_distinct,
    check_placeholders_known,
    check_names_distinct,
    check_heads_named,
    check_computes_are_numbers,
    check_output_shapes,
    check_rank,
    check_index_kinds,
    check_scope,
    # Then the paper's properties, ...
    check_conditions_are_logical,
    check_conditions_structural,
    check_branch_shapes,
    check_siblings_independent,
    check_calls_at_children,
    check_no_grandchildren,
    check_computes_at_own_node,
    check_recursive,
    check_heads_at_roots,
    check_structures_after,
    check_after_computes,
    # ... and what needs to know at which nodes an expression is evaluated.
    check_positions_in_arity,
    check_no_child_at_leaf,
    check_indices_in_range,
    check_defaults_in_range,
    check_payloads_possible,
)


def check(recursion: Recursion) -> None:
    """Raise the `ModelError` of the first rule that the recursion breaks."""
    for rule in CHECKS:
        rule(recursion)
