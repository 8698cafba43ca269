"""The chart of accounts, found by following references, because no operation lists ledgers.

The balances of a cash flow report name the ledgers that report cash flow, the flows of each year name categories, the
lines of entries without cash name opposing ledgers, and nested ledgers name parents. All days of the books are read, so
that the known ledgers never depend on the period. Ledgers that are used only with each other cannot be found;
``attrs["notes"]`` states that.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pandas as pd

from accounting_analytics.client import records as wire
from accounting_analytics.client.ledger_client import MAX_LIMIT, restart_on_expired_token
from accounting_analytics.client.records import flattened
from accounting_analytics.core.chart_of_accounts import Hierarchy, RequiredLedger, display_order, required_ledger
from accounting_analytics.core.day_ranges import DayRange, subtract_days
from accounting_analytics.core.errors import (
    ExpiredPageTokenError,
    InputError,
    InvalidRequestError,
    NotFoundError,
    ProtocolError,
)
from accounting_analytics.core.load_metadata import Discovery
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.periods import DAY, Period, as_utc, local_date, zone
from accounting_analytics.core.progress import progress_bar, show_notice
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.loading.request import DEFAULT_IN_FLIGHT, check_in_flight, requested_days
from accounting_analytics.loading.windows import run_in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import DateLike, ZoneLike

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent", "opposing_ledger_ids")
_WITHOUT_PARENTS = ("ledger", "opposing_ledger_ids")
_WITH_ALL_PARENTS = tuple("ledger" + ".parent" * levels for levels in range(10))
"""Expand paths of a ledger in a chart of up to ten levels."""
_HALVINGS = 14
"""Number of requests that find the first or last accepted day: 2**14 days are 44 years."""
_ATTEMPTS = 6
_LIMIT = 200
"""Most lines of a first page: few enough for a small response with nested ledgers, enough for most categories."""
_MANY_REQUESTS = 100
"""More requests than this number are announced."""
GIVEN_PARENTS = "given parents"


def discover_ledgers(
    client: LedgerClient,
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    parents: Mapping[str, str | None] | None = None,
    inflow_ledger_id: str | None = None,
    outflow_ledger_id: str | None = None,
    transfers_ledger_id: str | None = None,
    opening_balance_ledger_id: str | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Discover the ledgers that are used in the books, on any day.

    Parameters
    ----------
    client : LedgerClient
        The service.
    start_date, end_date : date-like
        Days that the service accepts, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a
        time zone, or periods of pandas (the first day of the one, the last of the other). The ledgers are those of all
        days; where the service refuses the earliest or latest days, the search for those that it accepts starts here.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default the client's, else UTC, which is then noted.
    parents : mapping, optional
        Ledger id to parent id (None for a root), where the service does not show parents.
    inflow_ledger_id, outflow_ledger_id, transfers_ledger_id, opening_balance_ledger_id : str, optional
        The required ledger of that role, where it cannot be recognised.
    in_flight : int
        Requests in parallel at most.
    progress : bool, optional
        Show a progress bar; None shows one in a terminal or an interactive notebook.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`, ordered by (sort_code, id). ``found_by`` states how each was
        found, ``parent_known`` whether its parent is certain, ``attrs["discovery"]`` of which days the entries were
        followed, ``attrs["notes"]`` what cannot be found, ``attrs["required"]`` which ledger has which of the four
        required roles.

    Raises
    ------
    ServiceError
        The service failed.
    HierarchyError
        The parents form a cycle.
    InputError
        A ledger of `parents` does not exist.
    """
    period, zone_notes = requested_days(client, start_date, end_date, time_zone)
    check_in_flight(in_flight)
    roles = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
        RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: transfers_ledger_id,
        RequiredLedger.OPENING_BALANCE: opening_balance_ledger_id,
    }
    search = LedgerSearch(client, period.time_zone, in_flight)
    search.read_cash_ledgers(period.end_date)
    search.find_accepted_days(period)
    for ledger_id in (*(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, GIVEN_PARENTS)
    given = {role: ledger_id for role, ledger_id in roles.items() if ledger_id is not None}
    for role, ledger_id in given.items():
        search.add(ledger_id, f"given as {role}")
    with progress_bar(progress, desc="ledgers", unit=" ledgers") as bar:
        while search.unprobed:
            bar.update(search.probe_new())
            search.read_higher_parents(parents or {})
    ledgers = search.frame(parents or {}, given)
    ledgers.attrs["notes"] = (*ledgers.attrs["notes"], *zone_notes)
    return ledgers


def refresh_ledgers(
    client: LedgerClient,
    known: pd.DataFrame,
    days: Period,
    *,
    new_ids: Iterable[str] = (),
    parents: Mapping[str, str | None] | None = None,
    since_first_line: bool = False,
    shown: Mapping[str, wire.Ledger] | None = None,
    first_line: dt.datetime | None = None,
) -> pd.DataFrame:
    """Read the fields of known ledgers again, and discover new ledgers.

    One line of each known ledger is read, unless `shown` has the fields that lines have just shown. Fields that no line
    shows are kept. With `since_first_line` the first line of any day is read, and the first day of
    ``attrs["discovery"]`` includes it, as it includes a `first_line` that was found otherwise.
    """
    discovery = Discovery.stated(known) or Discovery(len(known), None, days)
    accepted = Period(discovery.accepted.start_date, max(discovery.accepted.end_date, days.end_date), days.time_zone)
    days_of_known = Period(accepted.start_date, days.end_date, days.time_zone) if since_first_line else days
    search = LedgerSearch(client, days.time_zone, DEFAULT_IN_FLIGHT, frozenset(known["id"]), days_of_known)
    search.days, search.first_day = accepted, discovery.first_day
    if first_line is not None:
        search.note_days(first_line, first_line)
    rows = known.to_dict("records")
    for row in rows:
        search.add(
            row["id"], row["found_by"], name=row["name"], sort_code=row["sort_code"], cash=row["report_cash_flow"]
        )
    if shown is not None:
        search.unprobed = []
        for ledger_id in sorted(shown):
            search.set_fields(search.found[ledger_id], shown[ledger_id])
    for ledger_id in (*new_ids, *(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, "a line or a report")
    while True:
        search.probe_new()
        for row in rows:
            keep_fields(search.found[row["id"]], row)
        search.read_higher_parents(parents or {})
        if not search.unprobed:
            break
    return search.frame(
        parents or {}, {RequiredLedger(role): ledger_id for role, ledger_id in known.attrs["required"].items()}
    )


def find_first_line(client: LedgerClient, ledger_ids: Iterable[str], days: Period) -> dt.datetime | None:
    """Return the earliest instant of ledgers, with one request per ledger."""

    def read(ledger_id: str) -> tuple[dt.datetime, ...]:
        lines = client.iter_line_entries(ledger_id, days.start_date, days.end_date, time_zone=days.time_zone, limit=1)
        return tuple(as_utc(line.datetime) for line in itertools.islice(lines, 1))

    found = run_in_parallel(read, ledger_ids, threads=DEFAULT_IN_FLIGHT)
    return min(itertools.chain.from_iterable(found), default=None)


def keep_fields(ledger: FoundLedger, row: Mapping[Any, Any]) -> None:
    """Keep the known fields of a ledger if no line shows its fields.

    This occurs if all its lines are before the searched days.
    """
    if ledger.fields is None and pd.notna(row["debit_credit"]):
        names = (name for name in wire.Ledger.__struct_fields__ if pd.notna(row.get(name)))
        ledger.fields = wire.Ledger(**{name: row[name] for name in names if name != "parent_id"})
    if not ledger.parent_known and row["parent_known"]:
        ledger.parent_id = row["parent_id"] if pd.notna(row["parent_id"]) else None
        ledger.parent_known = True


@dataclass
class FoundLedger:
    """What is known about a ledger: how it was found, and the fields that a line shows.

    The line may also be on a ledger below it.
    """

    id: str
    found_by: str
    name: str | None = None
    sort_code: str | None = None
    cash: bool | None = None
    fields: wire.Ledger | None = None
    shown_by: str | None = None
    parent_id: str | None = None
    parent_known: bool = False

    @property
    def is_cash(self) -> bool:
        """True if a report has its balances, or its fields say that it reports cash flow."""
        return bool(self.cash or (self.fields is not None and self.fields.report_cash_flow))


class _Probe(NamedTuple):
    """What the first lines of a ledger show. Most ledgers have no further lines.

    The lines are not kept, because they would fill memory.
    """

    ledger: FoundLedger
    fields: wire.Ledger | None
    instants: list[dt.datetime]
    opposing: set[str]
    has_all_lines: bool

    def lines_a_day(self) -> float:
        """Return the number of lines per day."""
        return len(self.instants) / max((max(self.instants) - min(self.instants)) / DAY, 1)


class LedgerSearch:
    """Ledgers found so far. New ledgers are probed once, in parallel; of a known ledger one line is read.

    Parameters
    ----------
    client : LedgerClient
        The service.
    time_zone : str
        Zone that days are counted in.
    in_flight : int
        Requests in parallel at most.
    known : set of str
        Ledgers that were found earlier, of which one line is read.
    days_of_known : Period, optional
        Days of these lines.

    Attributes
    ----------
    days : Period
        The days that the service accepts: all, unless it refuses some.
    first_day, last_day : date or None
        The earliest and the latest day of a line that was read.
    """

    def __init__(
        self,
        client: LedgerClient,
        time_zone: str,
        in_flight: int,
        known: frozenset[str] = frozenset(),
        days_of_known: Period | None = None,
    ) -> None:
        self._client = client
        self._zone = zone(time_zone)
        self._in_flight = in_flight
        self._known = known
        self._expand: tuple[str, ...] = _WITH_PARENTS
        self._asked_for_higher: set[str] = set()
        self._years_read: list[DayRange] = []
        self.days = Period(dt.date.min, dt.date.max, time_zone)
        self._days_of_known = days_of_known or self.days
        self.first_day: dt.date | None = None
        self.last_day: dt.date | None = None
        self.found: dict[str, FoundLedger] = {}
        self.unprobed: list[FoundLedger] = []

    def add(self, ledger_id: str, found_by: str, **known: Any) -> FoundLedger:  # noqa: ANN401 (fields of FoundLedger)
        """Add a ledger, unless it was found before. Values in `known` fill its unknown fields."""
        ledger = self.found.get(ledger_id)
        if ledger is None:
            ledger = self.found[ledger_id] = FoundLedger(ledger_id, found_by)
            self.unprobed.append(ledger)
        for name, value in known.items():
            if getattr(ledger, name) is None:
                setattr(ledger, name, value)
        return ledger

    def read_cash_ledgers(self, day: dt.date) -> None:
        """Add the ledgers that report cash flow, but not the categories of the day.

        With the categories, the result would depend on the day.
        """
        self._add_cash(self._client.retrieve_cash_flow_report(day, day, time_zone=self.days.time_zone))

    def read_report(self, first: dt.date, last: dt.date) -> None:
        """Read a report, and add its cash ledgers and categories."""
        report = self._client.retrieve_cash_flow_report(first, last, time_zone=self.days.time_zone)
        self._add_cash(report)
        for flow in flattened(report.cash_flow_ledgers):
            self.add(_copy_of(flow.ledger_id), "cash flow", name=_copy_of(flow.name))
            self._note_instants([as_utc(line.datetime) for line in flow.lines])

    def _add_cash(self, report: wire.CashFlowReport) -> None:
        for balance in (*flattened(report.starting_balances), *flattened(report.ending_balances)):
            fields = {"name": _copy_of(balance.ledger_name), "sort_code": _copy_of(balance.sort_code)}
            self.add(_copy_of(balance.ledger_id), "cash balance", cash=True, **fields)

    def find_accepted_days(self, asked: Period) -> None:
        """Find all days that the service accepts. They include the requested days."""
        first, last = self.days.start_date, self.days.end_date
        if self.found and not self._accepts(first, last):
            first = _last_accepted(asked.start_date, first, lambda day: self._accepts(day, asked.end_date))
            last = _last_accepted(asked.end_date, last, lambda day: self._accepts(asked.start_date, day))
            self.days = Period(first, last, self.days.time_zone)

    def _accepts(self, first: dt.date, last: dt.date) -> bool:
        """Return whether the service accepts a query of these days."""
        try:
            self._client.list_line_entries(next(iter(self.found)), first, last, time_zone=self.days.time_zone, limit=1)
        except InvalidRequestError:
            return False
        return True

    def probe_new(self) -> int:
        """Probe new ledgers in parallel, follow their lines, and count them."""
        ledgers, self.unprobed = self.unprobed, []
        probes = sorted(
            run_in_parallel(self._probe, ledgers, threads=self._in_flight),
            key=lambda probe: probe.ledger.id,  # in the same order every time
        )
        for probe in probes:
            self._note_instants(probe.instants)
            if probe.fields is not None:
                self.set_fields(probe.ledger, probe.fields)
        opposing = {probe.ledger.id: probe.opposing for probe in probes if probe.ledger.id not in self._known}
        cash = [probe for probe in probes if probe.ledger.id in opposing and probe.ledger.is_cash]
        for probe in cash:
            self._read_reports_of_years(probe)
        all_named = all(opposing[probe.ledger.id] <= self.found.keys() for probe in cash)
        longer = [probe for probe in probes if not probe.has_all_lines and not (probe.ledger.is_cash and all_named)]
        self._announce(longer)
        for ledger_id, opposing_ids, first_and_last in run_in_parallel(
            self._read_rest, longer, threads=self._in_flight
        ):
            opposing[ledger_id] |= opposing_ids
            self._note_instants(first_and_last)
        for ledger_id, opposing_ids in opposing.items():
            for opposing_id in sorted(opposing_ids):
                self.add(opposing_id, f"opposing ledger of {self.found[ledger_id].name or ledger_id}")
        return len(ledgers)

    def read_higher_parents(self, given: Mapping[str, str | None]) -> None:
        """Read further ancestors, if the shown ancestors end below a root.

        Nothing is read while ledgers are left to probe. Then one line of a ledger below is read. A service that shows
        no further ancestors refuses the first request. Parents that the caller gave are not read.
        """
        for top in list(self.found.values()) if not self.unprobed else ():
            below = top.shown_by
            if top.parent_known or top.id in given or below in {None, top.id, *self._asked_for_higher}:
                continue
            self._asked_for_higher.add(str(below))
            try:
                self._show_all_parents(self.found[str(below)])
            except InvalidRequestError:
                self._asked_for_higher.update(self.found)
                return

    def _show_all_parents(self, ledger: FoundLedger) -> None:
        """Read one line of a ledger, with all its ancestors."""
        lines = self._client.iter_line_entries(
            ledger.id,
            self.days.start_date,
            self.days.end_date,
            time_zone=self.days.time_zone,
            expand=_WITH_ALL_PARENTS,
            limit=1,
        )
        for line in itertools.islice(lines, 1):
            if line.ledger is not None:
                self.set_fields(ledger, line.ledger)

    def _day(self, instant: dt.datetime) -> dt.date:
        return local_date(instant, self._zone)

    def _note_instants(self, instants: Sequence[dt.datetime]) -> None:
        """Extend the range of days by instants of lines."""
        if instants:
            self.note_days(min(instants), max(instants))

    def note_days(self, first: dt.datetime, last: dt.datetime) -> None:
        """Extend the range of days by the days of two instants."""
        days = [local_date(as_utc(instant), self._zone) for instant in (first, last)]
        self.first_day = min(days[0], self.first_day or days[0])
        self.last_day = max(days[1], self.last_day or days[1])

    def _probe(self, ledger: FoundLedger) -> _Probe:
        """Read the first page of a new ledger.

        For a known ledger, read one line.
        """
        is_known = ledger.id in self._known
        days, limit = (self._days_of_known, 1) if is_known else (self.days, _LIMIT)
        try:
            page = self._first_page(ledger.id, days, limit)
        except NotFoundError:
            if ledger.found_by != GIVEN_PARENTS:
                raise
            raise InputError(
                f"parents: ledger {quote(ledger.id)} does not exist in this instance; correct its id"
            ) from None
        lines, is_whole = page.records, is_known or page.next_page_token is None
        fields = lines[0].ledger if lines else None
        return _Probe(ledger, fields, [as_utc(line.datetime) for line in lines], _opposing_ids(lines), is_whole)

    def _first_page(self, ledger_id: str, days: Period, limit: int) -> wire.LineEntryPage:
        """Return the first page with lines, or the last page."""

        def read(expand: tuple[str, ...]) -> wire.LineEntryPage:
            pages = self._client.iter_line_entry_pages(
                ledger_id, days.start_date, days.end_date, time_zone=days.time_zone, expand=expand, limit=limit
            )
            return next(page for page in pages if page.records or page.next_page_token is None)

        expand = self._expand
        try:
            return restart_on_expired_token(lambda: read(expand), attempts=_ATTEMPTS)
        except InvalidRequestError as error:
            if expand == _WITHOUT_PARENTS or isinstance(error, ExpiredPageTokenError):
                raise
        self._expand = _WITHOUT_PARENTS  # the service shows no parents, or refuses the request for another reason
        return restart_on_expired_token(lambda: read(_WITHOUT_PARENTS), attempts=_ATTEMPTS)

    def _read_reports_of_years(self, probe: _Probe) -> None:
        """Read the reports of all years with lines of a cash ledger.

        One report is read at a time, because reports are large. A ledger with more lines than a page takes one request
        for each year, in whatever order the lines are, and one for each gap.
        """
        for instant in probe.instants:
            self._read_year(self._day(instant))
        all_days = [] if probe.has_all_lines else [DayRange.of_period(self.days)]
        unread = subtract_days(all_days, self._years_read)
        while unread:
            days = unread.pop()
            lines = self._client.iter_line_entries(probe.ledger.id, *days, time_zone=self.days.time_zone, limit=1)
            for line in itertools.islice(lines, 1):
                day = self._day(as_utc(line.datetime))
                if not days.first <= day <= days.last:
                    raise ProtocolError(
                        f"list line entries of ledger {quote(probe.ledger.id)}, {days.first} to {days.last}: line "
                        f"{quote(line.id)} of {day} is outside these days; nothing was loaded"
                    )
                unread += subtract_days([days], [self._read_year(day)])

    def _read_year(self, day: dt.date) -> DayRange:
        """Read the report of a day's year, unless it was read."""
        first, last = dt.date(day.year, 1, 1), dt.date(day.year, 12, 31)
        days = DayRange(max(first, self.days.start_date), min(last, self.days.end_date))
        if days not in self._years_read:
            self._years_read.append(days)
            self.read_report(*days)
        return days

    def _announce(self, probes: Iterable[_Probe]) -> None:
        """Announce the requests after the first pages, if they are many."""
        days = (self.last_day - self.first_day).days + 1 if self.first_day and self.last_day else 0
        expected = sum(math.ceil(days * probe.lines_a_day() / MAX_LIMIT) for probe in probes)
        if expected > _MANY_REQUESTS:
            show_notice(
                f"finding the ledgers takes up to {expected:,} requests, because the service has no list of them; "
                "local books (sync) keep what was found, and read only what is new"
            )

    def _read_rest(self, probe: _Probe) -> tuple[str, set[str], list[dt.datetime]]:
        """Read a ledger's further lines, and return their opposing ledgers and instants.

        Lines of cash entries are skipped, unless the reports do not name every opposing ledger of cash, or no line
        shows the fields of the ledger.
        """
        ledger = probe.ledger

        def read() -> tuple[str, set[str], list[dt.datetime]]:
            opposing: set[str] = set()
            ends: list[dt.datetime] = []
            for page in self._client.iter_line_entry_pages(
                ledger.id,
                self.days.start_date,
                self.days.end_date,
                time_zone=self.days.time_zone,
                is_cashflow=None if ledger.is_cash or ledger.fields is None else False,
                expand=("opposing_ledger_ids",),
            ):
                opposing |= _opposing_ids(page.records)
                instants = [as_utc(line.datetime) for line in page.records]
                ends += [end(instants) for end in (min, max) if instants]
            return ledger.id, opposing, ends

        return restart_on_expired_token(read, attempts=_ATTEMPTS)

    def frame(self, parents: Mapping[str, str | None], given: Mapping[RequiredLedger, str]) -> pd.DataFrame:
        """Return all found ledgers as a validated table."""
        for ledger_id, parent_id in parents.items():
            self.found[ledger_id].parent_id = parent_id
            self.found[ledger_id].parent_known = True
        hierarchy = Hierarchy({ledger.id: ledger.parent_id for ledger in self.found.values()})
        types: defaultdict[str, set[str]] = defaultdict(set)
        roles: dict[RequiredLedger, str] = {}
        ledgers = sorted(self.found.values(), key=lambda ledger: display_order(ledger.sort_code or "", ledger.id))
        for ledger in ledgers:
            if ledger.fields is not None:
                types[hierarchy.root(ledger.id)].add(ledger.fields.type)
                if role := _required_role(ledger.fields):
                    roles[role] = ledger.id
        roles |= given
        dtypes = Ledgers.dtypes()
        rows = [_row(ledger, types[hierarchy.root(ledger.id)], dtypes) for ledger in ledgers]
        frame = Ledgers.require_valid(pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes))
        frame.attrs["required"] = {str(role): roles[role] for role in RequiredLedger if role in roles}
        discovery = Discovery(len(frame), self.first_day, self.days, self._client.instance_id)
        discovery.attach(frame)
        frame.attrs["notes"] = (discovery.claim(), *self._notes(roles))
        return frame

    def set_fields(self, ledger: FoundLedger, fields: wire.Ledger, shown_by: str | None = None) -> None:
        """Store the fields of a nested ledger, and add its parent."""
        ledger.fields, ledger.name, ledger.sort_code = fields, fields.name, fields.sort_code
        ledger.shown_by = shown_by or ledger.id
        if fields.parent_id is not msgspec.UNSET:
            ledger.parent_id, ledger.parent_known = fields.parent_id, True
        if fields.parent is msgspec.UNSET:
            return
        ledger.parent_known = True
        if fields.parent is not None:
            ledger.parent_id = fields.parent.id
            parent = self.add(fields.parent.id, f"parent of {fields.name}")
            if parent.fields is None or parent.shown_by != parent.id:
                self.set_fields(parent, fields.parent, ledger.shown_by)

    def _notes(self, required: Mapping[RequiredLedger, str]) -> Iterator[str]:
        unknown = [ledger.name or ledger.id for ledger in self.found.values() if not ledger.parent_known]
        if unknown:
            yield (
                f"The parent of {count_of(len(unknown), 'ledger')} is unknown, so totals over them may be too; give it "
                f"as parents= (--parents): {join_ids(unknown)}."
            )
        without_lines = [ledger.name or ledger.id for ledger in self.found.values() if ledger.fields is None]
        if without_lines:
            yield (
                f"{count_of(len(without_lines), 'ledger has', 'ledgers have')} no line, so side and sub_type are "
                f"unknown, and the type where the parents do not show it: {join_ids(without_lines)}."
            )
        unrecognised = [str(role) for role in RequiredLedger if role not in required]
        shows_required = all(ledger.fields and ledger.fields.is_required is not None for ledger in self.found.values())
        if unrecognised and not shows_required:
            yield (
                f"These required ledgers have no line by which to recognise them: {', '.join(unrecognised)}; their ids "
                "can be given."
            )


def _required_role(fields: wire.Ledger) -> RequiredLedger | None:
    return required_ledger(
        is_required=bool(fields.is_required), sub_type=fields.sub_type, debit_credit=fields.debit_credit
    )


def _copy_of(text: str) -> str:
    """Copy a text, so that its report's memory can be freed."""
    return text.encode().decode()


def _opposing_ids(lines: Iterable[wire.LineEntry]) -> set[str]:
    return {ledger_id for line in lines for ledger_id in line.opposing_ledger_ids or ()}


def _last_accepted(accepted: dt.date, end: dt.date, is_accepted: Callable[[dt.date], bool]) -> dt.date:
    """Find the last accepted day from `accepted` towards `end`.

    Each step halves the days between.
    """
    if is_accepted(end):
        return end
    day = DAY if end > accepted else -DAY
    low, high = 0, 2**_HALVINGS
    while high - low > 1:
        middle = (low + high) // 2
        if is_accepted(accepted + middle * day):
            low = middle
        else:
            high = middle
    return accepted + low * day


def _row(ledger: FoundLedger, types_of_tree: set[str], columns: Iterable[str]) -> dict[str, Any]:
    """Make the row of a ledger.

    A ledger without lines has the type of its parents or children, if they have only one.
    """
    known = ledger.fields
    return {name: getattr(known, name, None) for name in columns} | {
        "id": ledger.id,
        "name": ledger.name or ledger.id,
        "type": known.type if known else min(types_of_tree) if len(types_of_tree) == 1 else None,
        "report_cash_flow": known.report_cash_flow if known else bool(ledger.cash),
        "parent_id": ledger.parent_id,
        "sort_code": ledger.sort_code or "",
        "created_at": known and known.created_at and as_utc(known.created_at),
        "found_by": ledger.found_by,
        "parent_known": ledger.parent_known,
    }
