"""The request of a load: ledgers, days, filters, expansions, checks, and windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict, Unpack

from accounting_analytics.client import LedgerClient
from accounting_analytics.core.arguments import require_type, to_texts
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.periods import Period, choose_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.core.periods import DateLike, ZoneLike

CLIENT_HINT = "connect() returns one, and demo().client is one; of local books load_books(local) returns the books"
PAGE_SIZE = 1000
DEFAULT_IN_FLIGHT = 8
DEFAULT_EXPANSIONS = ("transaction", "journal_entry", "opposing_ledger_ids")
Consistency: TypeAlias = Literal["newest", "all"] | Period
"""Days that a load checks for changes: the newest days of each ledger, all days, or a period within the load."""


class LoadOptions(TypedDict, total=False):
    """Options of a load; :func:`load_line_entries` describes them."""

    time_zone: ZoneLike | None
    is_cashflow: bool | None
    tag_ids: Iterable[str] | None
    expand: Iterable[str]
    consistency: Consistency
    in_flight: int
    allow_partial: bool


def requested_days(
    client: LedgerClient, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike | None
) -> tuple[Period, tuple[str, ...]]:
    """Return the requested days, with notes on their time zone."""
    require_type(client, LedgerClient, "client", CLIENT_HINT)
    day_zone = choose_zone(time_zone, client.time_zone)
    return Period(start_date, end_date, day_zone.name), day_zone.notes


@dataclass(frozen=True)
class LoadRequest:
    """The line entries that a load requests, and its options.

    `filters` maps the names of query parameters that select lines to their values, None if not given. `verified` are
    the days whose lines must be of one moment. If it is None, the newest lines of each ledger are checked.
    """

    client: LedgerClient
    ledger_ids: tuple[str, ...]
    period: Period
    expand: frozenset[str]
    filters: Mapping[str, bool | tuple[str, ...] | None]
    verified: Period | None
    in_flight: int
    allow_partial: bool
    notes: tuple[str, ...]

    @classmethod
    def from_options(
        cls,
        client: LedgerClient,
        ledger_ids: Iterable[str],
        start_date: DateLike,
        end_date: DateLike,
        **options: Unpack[LoadOptions],
    ) -> Self:
        """Check the arguments of a public function, without sending a request."""
        period, notes = requested_days(client, start_date, end_date, options.get("time_zone"))
        return cls(
            client=client,
            ledger_ids=check_ledger_ids(ledger_ids),
            period=period,
            expand=frozenset(to_texts(options.get("expand", DEFAULT_EXPANSIONS))),
            filters={"is_cashflow": options.get("is_cashflow"), "tag_ids": to_texts(options.get("tag_ids")) or None},
            verified=_find_verified_days(options.get("consistency", "newest"), period),
            in_flight=check_in_flight(options.get("in_flight", DEFAULT_IN_FLIGHT)),
            allow_partial=options.get("allow_partial", False),
            notes=notes,
        )

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self.client.scale

    def page_options(self) -> dict[str, Any]:
        """Return the options of ``LedgerClient.list_line_entries`` for every page."""
        filters = {name: value for name, value in self.filters.items() if value is not None}
        return {"expand": sorted(self.expand), "limit": PAGE_SIZE} | filters

    def as_json(self) -> dict[str, Any]:
        """Return all values that determine the lines and their columns."""
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


@dataclass(frozen=True)
class Window:
    """Days of a ledger that are read page by page. `expected_pages` is None if it is not known.

    If `with_ledger` is true, the pages also show the fields of the ledger and of its parents.
    """

    ledger_id: str
    period: Period
    expected_pages: float | None = None
    with_ledger: bool = False

    @property
    def expected_lines(self) -> float:
        """Expected number of lines, or 0 if it is not known."""
        return (self.expected_pages or 0) * PAGE_SIZE

    def __str__(self) -> str:
        return f"ledger {self.ledger_id}, {self.period}"


def _find_verified_days(consistency: Consistency, loaded: Period) -> Period | None:
    """Return the days that must not change during the load.

    Return None if `consistency` is "newest".
    """
    if isinstance(consistency, Period):
        if consistency.time_zone == loaded.time_zone and loaded.covers(consistency):
            return consistency
        raise InputError(
            f"consistency is the period {consistency}, which is not within the load of {loaded}; no request was sent"
        )
    if consistency not in ("newest", "all"):  # `consistency` may be a list, which cannot be in a set
        raise InputError(f"consistency is {consistency!r}; it must be 'newest', 'all', or a Period within the load")
    return loaded if consistency == "all" else None


def check_in_flight(in_flight: int) -> int:
    """Return `in_flight`. Refuse anything but a positive number of requests."""
    if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
        raise InputError(f"in_flight must be a whole number of at least 1, not {in_flight!r}")
    return in_flight


def check_ledger_ids(ledger_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the ledgers to load, each once."""
    if not isinstance(ledger_ids, Iterable) or hasattr(ledger_ids, "columns"):  # a DataFrame would iterate over columns
        raise InputError(f"ledger_ids is a {type(ledger_ids).__name__}; give the ids, such as ledgers['id']")
    ids = (ledger_ids,) if isinstance(ledger_ids, str) else tuple(dict.fromkeys(ledger_ids))
    if not ids:
        raise InputError(
            "no ledgers given; discover_ledgers(client, start_date, end_date)['id'] are those that are used in a period"
        )
    wrong = [ledger_id for ledger_id in ids if not isinstance(ledger_id, str) or not ledger_id]
    if wrong:
        raise InputError(f"ledger_ids contains {wrong[0]!r}, which is not an id; no request was sent")
    return ids
