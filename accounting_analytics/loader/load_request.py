"""The description of one load: ledgers, days, filters and expansions, what is checked, and how it is carried out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from accounting_analytics.arguments import require_type, to_path, to_texts
from accounting_analytics.client import LedgerClient
from accounting_analytics.errors import InputError
from accounting_analytics.loader.windows import PAGE_SIZE
from accounting_analytics.loader.worker_pool import check_in_flight
from accounting_analytics.periods import Period, choose_zone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accounting_analytics.loader.windows import Window
    from accounting_analytics.periods import DateLike, ZoneLike

DEFAULT_EXPANSIONS = ("transaction", "journal_entry", "opposing_ledger_ids")
Consistency: TypeAlias = Literal["newest", "all"] | Period
"""What a load checks for changes: the newest days of each ledger, all days, or the days of a period within the load."""


@dataclass(frozen=True)
class LoadRequest:
    """The line entries that one load requests, and how.

    Attributes
    ----------
    client : LedgerClient
        The service and the instance.
    ledger_ids : tuple of str
        The ledgers, each once.
    period : Period
        The days.
    expand : frozenset of str
        Expand paths.
    filters : mapping
        Query parameters that select lines (``is_cashflow``, ``tag_ids``), by name; None where not given.
    verified : Period or None
        Days whose lines must be those of one moment; None checks the newest lines of each ledger.
    checkpoint : Path or None
        Folder for finished windows.
    in_flight : int
        Requests in parallel at most.
    allow_partial : bool
        Whether windows that fail are left out instead of ending the load.
    progress : bool or None
        Whether to show a progress bar; None shows one in a terminal or an interactive notebook.
    notes : tuple of str
        What a reader must know about the time zone.
    """

    client: LedgerClient
    ledger_ids: tuple[str, ...]
    period: Period
    expand: frozenset[str]
    filters: Mapping[str, bool | tuple[str, ...] | None]
    verified: Period | None
    checkpoint: Path | None
    in_flight: int
    allow_partial: bool
    progress: bool | None
    notes: tuple[str, ...]

    @classmethod
    def from_arguments(
        cls,
        client: LedgerClient,
        ledger_ids: Iterable[str],
        start_date: DateLike,
        end_date: DateLike,
        time_zone: ZoneLike | None,
        *,
        expand: Iterable[str],
        consistency: Consistency,
        checkpoint: str | Path | None,
        in_flight: int,
        allow_partial: bool = False,
        progress: bool | None = None,
        **filters: bool | Iterable[str] | None,
    ) -> Self:
        """Check the arguments of a public function; nothing is sent."""
        require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
        day_zone = choose_zone(time_zone, client.time_zone)
        ledger_ids = _check_ledger_ids(ledger_ids)
        period = Period(start_date, end_date, day_zone.name)
        return cls(
            client=client,
            ledger_ids=ledger_ids,
            period=period,
            expand=frozenset(to_texts(expand)),
            filters={name: _normalize_filter(value) for name, value in filters.items()},
            verified=_find_verified_days(consistency, period),
            checkpoint=None if checkpoint is None else to_path(checkpoint, "checkpoint"),
            in_flight=check_in_flight(in_flight),
            allow_partial=allow_partial,
            progress=progress,
            notes=day_zone.notes,
        )

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self.client.scale

    def page_arguments(self, window: Window, page_token: str | None = None) -> dict[str, Any]:
        """Arguments of ``LedgerClient.list_line_entries`` for one page of a window."""
        return {
            "ledger_id": window.ledger_id,
            "start_date": window.period.start_date,
            "end_date": window.period.end_date,
            "time_zone": self.period.time_zone,
            "expand": sorted(self.expand),
            "limit": PAGE_SIZE,
            "page_token": page_token,
        } | {name: value for name, value in self.filters.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        """Everything that decides which lines are sent and which columns they have."""
        return {
            "base_url": self.client.base_url,
            "instance_id": self.client.instance_id,
            "ledger_ids": list(self.ledger_ids),
            "start_date": self.period.start_date.isoformat(),
            "end_date": self.period.end_date.isoformat(),
            "time_zone": self.period.time_zone,
            "expand": sorted(self.expand),
            "scale": self.scale,
        } | {name: list(value) if isinstance(value, tuple) else value for name, value in self.filters.items()}


def _find_verified_days(consistency: Consistency, loaded: Period) -> Period | None:
    """Days of a load that must be unchanged at its end; None where only the newest lines are checked."""
    if isinstance(consistency, Period):
        if consistency.time_zone == loaded.time_zone and loaded.covers(consistency):
            return consistency
        msg = f"consistency is the period {consistency}, which is not within the load of {loaded}; no request was sent"
        raise InputError(msg)
    if consistency not in {"newest", "all"}:
        msg = f"consistency is {consistency!r}; it must be 'newest', 'all', or a Period within the load"
        raise InputError(msg)
    return loaded if consistency == "all" else None


def _normalize_filter(value: bool | Iterable[str] | None) -> bool | tuple[str, ...] | None:  # noqa: FBT001 (is_cashflow)
    """Boolean, or the texts of a list; None for an empty list."""
    return value if isinstance(value, bool) else to_texts(value) or None


def _check_ledger_ids(ledger_ids: Iterable[str]) -> tuple[str, ...]:
    if not isinstance(ledger_ids, Iterable) or hasattr(ledger_ids, "columns"):  # a DataFrame iterates over its columns
        msg = f"ledger_ids is a {type(ledger_ids).__name__}; give the ids, such as ledgers['id']"
        raise InputError(msg)
    ids = (ledger_ids,) if isinstance(ledger_ids, str) else tuple(dict.fromkeys(ledger_ids))
    if not ids:
        msg = (
            "no ledgers given; discover_ledgers(client, start_date, end_date)['id'] are those that are used in a period"
        )
        raise InputError(msg)
    wrong = next((ledger_id for ledger_id in ids if not isinstance(ledger_id, str) or not ledger_id), None)
    if wrong is not None:
        msg = f"ledger_ids contains {wrong!r}, which is not an id; no request was sent"
        raise InputError(msg)
    return ids
