"""Spreading requests over time: one pace for all threads of a client."""

from __future__ import annotations

import datetime as dt
import threading
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MINUTE = 60.0


class Pace:
    """Lets at most `requests_per_minute` requests start a minute, evenly; None sets no limit."""

    def __init__(self, requests_per_minute: float | None) -> None:
        self._gap = 0.0 if requests_per_minute is None else _MINUTE / requests_per_minute
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Wait for this caller's turn."""
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(self._next, now)
            self._next = turn + self._gap
        time.sleep(turn - now)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the service asks to wait: from seconds, a fraction or an HTTP date; None where it says nothing usable.

    A date without a zone is UTC, as HTTP dates are. `now` is the present as seconds since 1970.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
            seconds = (date if date.tzinfo else date.replace(tzinfo=dt.UTC)).timestamp() - now
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
        return max(seconds, 0.0)
    return seconds if 0 <= seconds < float("inf") else None
