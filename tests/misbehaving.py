"""Work for a child process of `test_endurance.py`, which is started often: it imports next to nothing."""

import ctypes
import os
import signal


def misbehave(case):
    """Die, work for ever, print as C does, or answer."""
    if case == ["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    while case == ["never ends"]:
        pass
    if case == ["prints"]:
        ctypes.CDLL(None).puts(b"an illegal value")
    return ""
