"""What `fn.explain()` says of a recursion's schedule: its primitives, and why those left out are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from cortex.compiler.options import RecursionOptions
from cortex.ra.schedule import RecursionSchedule
from cortex.ra.structure import Dag
from ragged.ir.rule_record import RuleRecord


@dataclass(frozen=True, slots=True)
class _Rule:
    """Primitives of one effect; `option` is the option of the recursion that asks for them, if one does.

    Where `effect` is None, the option's reason says it.
    """

    name: str
    effect: str | None
    primitives: tuple[str, ...] = ()
    option: str | None = None


_RULES = (
    _Rule("compute_once", "a node computes once what each of its parents would compute of it"),
    _Rule("dynamic_batch", "nodes of one height run together, and share what they load of the weights"),
    _Rule(
        "specialize",
        "nodes of one kind have loops of their own: no test at a node, and nothing computed that is zero there",
        ("specialize_if_else", "specialize", "specialize_leaves"),
    ),
    _Rule("tabulate", "a row of a table is read where a node would compute a product"),
    _Rule("hoist_constants", "what is equal at all nodes is computed once, when parameters are bound"),
    _Rule("hoist_inputs", None, (), "hoist_inputs"),
    _Rule(
        "refactor",
        "each node computes for its parent what depends on it: a product for each child, none for their sum",
        (),
        "refactor",
    ),
    _Rule(
        "unroll",
        "a step covers depth + 1 heights: there are fewer steps, and only the tops of one share loads of the weights",
        (),
        "unroll",
    ),
)
_OVER_DAG = "over a Dag, what several parents share would be computed again for each"


def recursion_rules(
    schedule: RecursionSchedule, options: RecursionOptions, *, default: bool
) -> Iterator[RuleRecord]:
    """Yield what each kind of primitive did in a schedule: the `default` one under the options, or a given one.

    Of primitives that nothing asked for, the record's reason is why the default leaves them out.
    """
    log, dag = schedule.log().splitlines(), isinstance(schedule.model.structure, Dag)
    whys = {each.name: each.metadata["why"] for each in fields(options)}
    for rule in _RULES:
        calls = tuple(f"s.{name}(" for name in rule.primitives or (rule.name,))
        applied = tuple(step for step in log if step.startswith(calls))
        refused = tuple(each for each in schedule.refused if each.step.startswith(calls))
        because, disabled = rule.effect or whys[rule.name], None
        if not applied and not refused:
            if rule.name == "compute_once" and not dag:
                continue  # a node has one parent
            if rule.name in ("refactor", "unroll"):
                because = _OVER_DAG if dag else whys[rule.name]
            disabled = _left_out(rule, schedule, options) if default else "the given schedule leaves it out"
        yield RuleRecord(rule.name, because, applied, refused, disabled)


def _left_out(rule: _Rule, schedule: RecursionSchedule, options: RecursionOptions) -> str | None:
    """Return the option that leaves a rule of the default schedule out; None if the model has no site for it."""
    if rule.name == "tabulate":
        return schedule.offer and schedule.offer.removeprefix("# ")
    return rule.option and f"{rule.option}={getattr(options, rule.option)!r}"
