"""`cortex doctor`: what this machine has, and what is missing."""

from __future__ import annotations

import dataclasses

import click

from cortex.cli.doctor_checks import cache, compiler, extension, linker, packages
from cortex.cli.finding import Finding
from cortex.cli.machine import extras, processor, python
from cortex.cli.report import json_option, print_json, print_table


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what this machine has and what is missing, with what to do about it.

    The exit status is 1 if something is missing that cortex does not run without.
    """
    findings = [python(), *packages(), extension(), compiler(), linker(), cache(), processor(), *extras()]
    wrong = [finding.name for finding in findings if finding.required and not finding.ok]
    verdict = f"Missing: {', '.join(wrong)}." if wrong else "Everything that cortex needs is here."
    if as_json:
        found = [dataclasses.asdict(finding) for finding in findings]
        print_json({"ok": not wrong, "findings": found, "verdict": verdict})
    else:
        headings = ("", "what", "found", "to do")
        print_table(
            headings, ([_sign(each), each.name, each.found, each.todo] for each in findings), text=headings
        )
        click.echo(f"\n{verdict}")
    if wrong:
        raise click.exceptions.Exit(1)


def _sign(finding: Finding) -> str:
    if finding.ok:
        return "ok"
    return "MISSING" if finding.required else "optional"
