"""A compile as an HTML page: its time on a batch, its rules, and what each step changed in the program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from html import escape

from cortex.compiler.bisect import CompileStep
from cortex.compiler.profile import Profile
from ragged.ir.printer import to_text
from ragged.ir.rule_record import RuleRecord
from ragged.machine import Machine

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
pre { background: #f6f6f6; padding: .6em; overflow-x: auto; font-size: 13px } summary { cursor: pointer }
code { font-size: 13px } .added { color: #116329 } .removed { color: #a40e26 } .place { color: #777 }
"""
_CLASSES = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, slots=True)
class Measured:
    """A profile on a batch, and the operations on floats that its program does there, without those of padding."""

    profile: Profile
    flops: int
    workers: int


def steps_page(
    title: str,
    rules: Iterable[RuleRecord],
    steps: Sequence[CompileStep],
    measured: Measured | None,
    machine: Machine,
) -> str:
    """Return the page; `measured` is None for a target that cannot run here."""
    times = "" if measured is None else _times(measured, machine)
    first, last = (escape(to_text(each.program)) for each in (steps[0], steps[-1]))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
{times}<h2>Rules of the default schedule</h2>
{"".join(map(_rule, rules))}
<h2>Steps</h2>
{_details("The program that lowering left", first)}
{"".join(_changes(steps))}
{_details("The program that code is generated for", last)}
</body></html>
"""


def _times(measured: Measured, machine: Machine) -> str:
    profile = measured.profile
    rows = [
        (name, f"{each.median:.1f}", f"{each.low:.1f} to {each.high:.1f}")
        for name, each in (
            ("linearizing", profile.linearize_us),
            ("checks of the structures", profile.prelude_us),
            ("kernel", profile.kernel_us),
            ("whole call", profile.total_us),
        )
    ]
    peak = machine.gflops * measured.workers
    reached = measured.flops / profile.kernel_us.median / 1000
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"""<h2>Time</h2>
<p>{profile.structures} structures, {profile.nodes} nodes in {profile.levels} levels, {measured.workers} workers.</p>
<table><tr><th>part</th><th>microseconds, median</th><th>10 % to 90 %</th></tr>
{body}</table>
<p>{measured.flops:,} operations: {reached:.1f} GFLOP/s of {peak:.1f}, {100 * reached / peak:.0f} % of what the workers'
multiply-add units do.</p>
"""


def _rule(record: RuleRecord) -> str:
    head, *lines = map(escape, str(record).splitlines())
    counts = f"{len(record.applied)} steps, {len(record.refused)} refused"
    return _details(f"{head} <span class='place'>({counts})</span>", "\n".join(lines))


def _changes(steps: Sequence[CompileStep]) -> Iterable[str]:
    """Yield each step that changed the program, with the lines that it changed."""
    before = to_text(steps[0].program).splitlines()
    number = 0
    for step in steps[1:]:
        after = to_text(step.program).splitlines()
        changed = list(unified_diff(before, after, lineterm="", n=2))[2:]
        if not changed:
            continue
        number += 1
        counts = (
            f"+{sum(line[0] == '+' for line in changed)} -{sum(line[0] == '-' for line in changed)} lines"
        )
        named = f"{number}. {escape(step.name)} <code>{escape(step.code)}</code> <span class='place'>({counts})</span>"
        yield _details(named, "\n".join(map(_line, changed)))
        before = after


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return escape(line) if kind is None else f'<span class="{kind}">{escape(line)}</span>'


def _details(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary><pre>{text}</pre></details>\n"
