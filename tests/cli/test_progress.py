"""What a slow command says on a terminal while it works."""

import io
import re
import sys
import time

from cortex.cli.progress import counting


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch, done: int) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with counting("schedules", 100) as advance:
        for _ in range(done):
            time.sleep(0.15)  # a display is drawn ten times a second
            advance()
        time.sleep(0.25)
    return stream.getvalue()


def test_a_terminal_is_told_how_long_the_rest_takes(monkeypatch):
    text = shown(Terminal(), monkeypatch, 4)
    assert "schedules" in text and "4/100" in text
    seconds = [60 * int(m) + int(s) for m, s in re.findall(r"0:(\d\d):(\d\d)", text)]
    assert seconds, "no estimate"
    assert 10 <= seconds[-1] <= 40, "96 more at about 0.15 to 0.2 s each"


def test_nothing_is_shown_elsewhere(monkeypatch):
    assert shown(io.StringIO(), monkeypatch, 1) == ""
