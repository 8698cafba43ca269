"""How long the service asks to wait."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
