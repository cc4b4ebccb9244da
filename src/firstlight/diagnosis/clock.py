"""How much time is left: long work is done in parts, the cheap ones first."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from firstlight.maths.checks import check_positive


class OutOfTime(Exception):
    """No time is left: a part that has begun is given up."""


class Clock:
    """A budget of seconds that begins when it is made.

    Parameters
    ----------
    seconds : float
        Above 0.
    now : callable, optional
        Tells the time, in seconds.

    Examples
    --------
    >>> times = iter([0.0, 4.0, 11.0])
    >>> clock = Clock(10.0, lambda: next(times))
    >>> clock.left, clock.over
    (6.0, True)
    """

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = check_positive("seconds", seconds)
        self._now = now
        self._start = now()
        self._paused = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left; never negative."""
        return max(0.0, self.seconds + self._paused - self.spent)

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left == 0

    def check(self) -> None:
        """Raise OutOfTime if no time is left: for loops that take long."""
        if self.over:
            raise OutOfTime

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what is done inside, such as what a computer does once for all."""
        start = self._now()
        try:
            yield
        finally:
            self._paused += self._now() - start
