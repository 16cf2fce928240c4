"""The processes of peers."""

import pytest

from bench.process import PeerFailed, PeerProcess


class Impatient(PeerProcess):
    patience = 0.1


def test_a_process_that_does_not_reply_is_ended():
    with Impatient("tests.bench.planted.asleep", 1) as peer:
        with pytest.raises(PeerFailed, match="no reply in 0 seconds"):
            peer.wait()
        with pytest.raises(PeerFailed, match="its process ended: -9"):
            peer.ask(None)
