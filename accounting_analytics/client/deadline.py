"""When something must have ended: for an attempt, a call or a whole job."""

from __future__ import annotations

import time


class Deadline:
    """A moment some seconds from now, that waits and transfers must not go beyond.

    One deadline may be given to many calls, and so bounds a whole job:
    ``client.with_options(deadline=Deadline(600))``.

    Parameters
    ----------
    seconds : float
        From now; infinity is never.
    """

    __slots__ = ("_at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = float(seconds)
        self._at = time.monotonic() + self.seconds

    def __repr__(self) -> str:
        return f"Deadline({self.seconds:g}, {self.remaining():.1f} seconds left)"

    def remaining(self) -> float:
        """Seconds left; not positive when it has passed."""
        return self._at - time.monotonic()

    def sooner(self, seconds: float) -> Deadline:
        """Return this deadline, or one `seconds` from now if that is sooner."""
        return self if self.remaining() <= seconds else Deadline(seconds)
