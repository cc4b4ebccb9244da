"""Work for a child process of `test_endurance.py`, which is started often: it imports next to nothing."""

import os
import signal


def misbehave(case):
    """Die, work for ever, or answer."""
    if case == ["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    while case == ["never ends"]:
        pass
    return ""
