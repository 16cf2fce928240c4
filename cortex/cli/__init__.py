"""The command `cortex`."""

from cortex.cli.commands import main

__all__ = ["main"]
