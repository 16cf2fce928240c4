"""`python -m cortex.cli` is the command `cortex`."""

from cortex.cli.commands import main

main(prog_name="cortex")
