"""Instants at which this process changed categories: lines read earlier have the old categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt

_applied: dict[str, dt.datetime] = {}
"""Instant of the last change of each service and instance."""


def record_changes(source: str, at: dt.datetime) -> None:
    """Remember when categories of a service and instance were changed."""
    _applied[source] = at


def changed_after(source: str, read_at: dt.datetime | None) -> dt.datetime | None:
    """Return the instant of the last change of categories, if it is after `read_at`."""
    at = _applied.get(source)
    return at if at and read_at and read_at < at else None
