"""The chart of accounts, found by following references: the service has no operation that lists ledgers.

The balances of a cash flow report name the ledgers that report cash flow, the flows of each year name categories, the
lines of entries without cash name opposing ledgers, and nested ledgers name parents. All days of the books are read,
whatever the period: which ledgers are known never depends on it. A set of ledgers that are used only with each other
cannot be found; ``attrs["notes"]`` states that.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from accounting_analytics.chart_of_accounts import Hierarchy, RequiredLedger, display_order, required_ledger
from accounting_analytics.client import records as wire
from accounting_analytics.client.ledger_client import MAX_LIMIT
from accounting_analytics.client.paging import restart_on_expired_token
from accounting_analytics.client.records import flattened
from accounting_analytics.errors import (
    ExpiredPageTokenError,
    InputError,
    InvalidRequestError,
    NotFoundError,
    ProtocolError,
)
from accounting_analytics.load_metadata import Discovery
from accounting_analytics.loader.parallel import DEFAULT_IN_FLIGHT, check_in_flight, run_in_parallel
from accounting_analytics.loader.request import requested_days
from accounting_analytics.local_books import LocalBooks, days_of_books, refuse_options
from accounting_analytics.messages import count_of, join_ids, quote
from accounting_analytics.periods import LOCALTIME, Period, as_utc, local_date, zone
from accounting_analytics.progress import progress_bar, show_notice
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import DateLike, ZoneLike

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent", "opposing_ledger_ids")
_WITHOUT_PARENTS = ("ledger", "opposing_ledger_ids")
_DAY = dt.timedelta(days=1)
_HALVINGS = 14
"""Requests that find the first or last day that a service accepts; 2**14 days are 44 years."""
_ATTEMPTS = 6
_LIMIT = 200
"""Few enough for a small response with nested ledgers, enough for all lines of most categories."""
_MANY_REQUESTS = 100
"""More requests than these are announced."""
_GIVEN_PARENTS = "given parents"


def discover_ledgers(
    client: LedgerClient | LocalBooks,
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
    client : LedgerClient or Books
        The service, or local books, which return the ledgers of their chart of accounts.
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
        A ledger of `parents` does not exist, or an option has no effect on local books.
    """
    if isinstance(client, LocalBooks):
        days_of_books(client, start_date, end_date, time_zone)
        refuse_options(
            parents=parents,
            inflow_ledger_id=inflow_ledger_id,
            outflow_ledger_id=outflow_ledger_id,
            transfers_ledger_id=transfers_ledger_id,
            opening_balance_ledger_id=opening_balance_ledger_id,
        )
        return client.ledgers()
    period, zone_notes = requested_days(client, start_date, end_date, time_zone)
    check_in_flight(in_flight)
    roles = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
        RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: transfers_ledger_id,
        RequiredLedger.OPENING_BALANCE: opening_balance_ledger_id,
    }
    zone_of_days = "UTC" if period.time_zone == LOCALTIME else period.time_zone  # all days are the same in every zone
    search = _LedgerSearch(client, zone_of_days, in_flight)
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=period.time_zone)
    search.add_balances(report)
    search.find_accepted_days(period)
    for ledger_id in (*(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, _GIVEN_PARENTS)
    given = {role: ledger_id for role, ledger_id in roles.items() if ledger_id is not None}
    for role, ledger_id in given.items():
        search.add(ledger_id, f"given as {role}")
    with progress_bar(progress, desc="ledgers", unit=" ledgers") as bar:
        while search.unprobed:
            bar.update(search.probe_new())
            search.add_flows(report)  # those of a service whose cash ledgers have no lines
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
) -> pd.DataFrame:
    """Read the fields of known ledgers again, one line of each, and discover those with new ids.

    What no line shows stays as it was known. With `since_first_line` it is their first line of any day, which the
    first day of ``attrs["discovery"]`` then includes.
    """
    discovery = Discovery.stated(known) or Discovery(len(known), None, days)
    accepted = Period(discovery.accepted.start_date, max(discovery.accepted.end_date, days.end_date), days.time_zone)
    days_of_known = Period(accepted.start_date, days.end_date, days.time_zone) if since_first_line else days
    search = _LedgerSearch(client, days.time_zone, DEFAULT_IN_FLIGHT, frozenset(known["id"]), days_of_known)
    search.days, search.first_day = accepted, discovery.first_day
    rows = known.to_dict("records")
    for row in rows:
        search.add(
            row["id"], row["found_by"], name=row["name"], sort_code=row["sort_code"], cash=row["report_cash_flow"]
        )
    for ledger_id in (*new_ids, *(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, "a line or a report")
    while search.unprobed:
        search.probe_new()
    for row in rows:
        _keep_fields(search.found[row["id"]], row)
    return search.frame(parents or {}, {RequiredLedger(role): one for role, one in known.attrs["required"].items()})


def _keep_fields(ledger: _FoundLedger, row: Mapping[Any, Any]) -> None:
    """Keep the known fields of a ledger that no line shows, such as one with lines before the days only."""
    if ledger.fields is None and pd.notna(row["debit_credit"]):
        names = (name for name in wire.Ledger.__struct_fields__ if pd.notna(row.get(name)))
        ledger.fields = wire.Ledger(**{name: row[name] for name in names if name != "parent_id"})
    if not ledger.parent_known and row["parent_known"]:
        ledger.parent_id = row["parent_id"] if pd.notna(row["parent_id"]) else None
        ledger.parent_known = True


@dataclass
class _FoundLedger:
    """What is known of a ledger so far: what named it, and then what its own lines show.

    `shown` are the fields that a line of it has, `has_all_lines` is whether its first page had every line, `years` are
    those of all lines of a cash ledger, and `lines_a_day` is how many there are on the first page.
    """

    id: str
    found_by: str
    name: str | None = None
    sort_code: str | None = None
    cash: bool | None = None
    fields: wire.Ledger | None = None
    type: str | None = None
    parent_id: str | None = None
    parent_known: bool = False
    shown: wire.Ledger | None = None
    opposing: set[str] = field(default_factory=set)
    has_all_lines: bool = True
    first_line_at: dt.datetime | None = None
    years: set[int] = field(default_factory=set)
    lines_a_day: float = 0

    @property
    def is_cash(self) -> bool:
        """Whether it reports cash flow, as balances of a report or its own fields state."""
        return bool(self.cash or (self.shown is not None and self.shown.report_cash_flow))

    def add_lines(self, lines: Iterable[wire.LineEntry]) -> None:
        """Take over the opposing ledgers of lines, and the first of them; again makes no difference."""
        for line in lines:
            self.opposing.update(line.opposing_ledger_ids or ())
            instant = as_utc(line.datetime)
            self.first_line_at = min(instant, self.first_line_at or instant)


class _LedgerSearch:
    """Ledgers found so far; each is probed once, and all new ones in parallel; of those that are known, one line.

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
        self._known, self._days_of_known = known, days_of_known
        self._expand: tuple[str, ...] = _WITH_PARENTS
        self._years_read: set[int] = set()
        self.days = Period(dt.date.min, dt.date.max, time_zone)
        self.first_day: dt.date | None = None
        self.last_day: dt.date | None = None
        self.found: dict[str, _FoundLedger] = {}
        self.unprobed: list[_FoundLedger] = []

    def add(self, ledger_id: str, found_by: str, **known: Any) -> _FoundLedger:  # noqa: ANN401 (fields of _FoundLedger)
        """Add a ledger unless it was found before; `known` fills fields that are not known yet."""
        ledger = self.found.get(ledger_id)
        if ledger is None:
            ledger = self.found[ledger_id] = _FoundLedger(ledger_id, found_by)
            self.unprobed.append(ledger)
        for name, value in known.items():
            if getattr(ledger, name) is None:
                setattr(ledger, name, value)
        return ledger

    def add_balances(self, report: wire.CashFlowReport) -> None:
        """Add the ledgers that report cash flow."""
        for one in (*flattened(report.starting_balances), *flattened(report.ending_balances)):
            self.add(one.ledger_id, "cash balance", name=one.ledger_name, sort_code=one.sort_code, cash=True)

    def add_flows(self, report: wire.CashFlowReport) -> None:
        """Add the categories of cash movements."""
        for flow in flattened(report.cash_flow_ledgers):
            self.add(flow.ledger_id, "cash flow", name=flow.name)
            instants = [as_utc(line.datetime) for line in flow.lines]
            self._note_lines([min(instants), max(instants)] if instants else [])

    def find_accepted_days(self, asked: Period) -> None:
        """Find out which days the service accepts, where it refuses some: those asked for are accepted."""
        if not self.found or self._accepts(self.days.start_date, self.days.end_date):
            return
        first, last = self.days.start_date, self.days.end_date
        if not self._accepts(first, asked.end_date):
            first = _last_accepted(asked.start_date, -1, lambda day: self._accepts(day, asked.end_date))
        if not self._accepts(asked.start_date, last):
            last = _last_accepted(asked.end_date, 1, lambda day: self._accepts(asked.start_date, day))
        self.days = Period(first, last, self.days.time_zone)

    def _accepts(self, first: dt.date, last: dt.date) -> bool:
        """Whether the service accepts a query of some days."""
        try:
            self._client.list_line_entries(next(iter(self.found)), first, last, time_zone=self.days.time_zone, limit=1)
        except InvalidRequestError:
            return False
        return True

    def probe_new(self) -> int:
        """Probe all new ledgers in parallel, and read the reports of new years; return how many ledgers there were."""
        ledgers = sorted(self.unprobed, key=lambda ledger: ledger.id)  # the same order, whatever found them
        self.unprobed = []
        self._do_each(self._probe, ledgers)
        self._read_reports({year for ledger in ledgers for year in ledger.years})
        all_named = all(ledger.opposing <= self.found.keys() for ledger in ledgers if ledger.cash)
        self._read_rest(
            [ledger for ledger in ledgers if not ledger.has_all_lines and not (ledger.cash and all_named)], ledgers
        )
        for ledger in ledgers:
            if ledger.shown is not None:
                self._set_fields(ledger, ledger.shown)
            for opposing_id in sorted(ledger.opposing):
                self.add(opposing_id, f"opposing ledger of {ledger.name or ledger.id}")
        return len(ledgers)

    def _do_each(self, function: Callable[[_FoundLedger], None], ledgers: Iterable[_FoundLedger]) -> None:
        """Call a function with each ledger, several in parallel."""
        for _ in run_in_parallel(function, ledgers, threads=self._in_flight):
            pass

    def _note_lines(self, instants: Iterable[dt.datetime | None]) -> None:
        days = [local_date(instant, self._zone) for instant in instants if instant is not None]
        self.first_day = min([*days, *filter(None, [self.first_day])], default=None)
        self.last_day = max([*days, *filter(None, [self.last_day])], default=None)

    def _probe(self, ledger: _FoundLedger) -> None:
        """Probe a ledger: its first page, which of most ledgers has all lines, and the years of a cash ledger."""
        days = self._days_of_known if ledger.id in self._known else None
        try:
            page = self._first_page(ledger.id, days or self.days, 1 if days else _LIMIT)
        except NotFoundError:
            if ledger.found_by != _GIVEN_PARENTS:
                raise
            raise InputError(
                f"parents: ledger {quote(ledger.id)} does not exist in this instance; correct its id"
            ) from None
        if not page.records:
            return
        ledger.shown = page.records[0].ledger
        instants = sorted(as_utc(line.datetime) for line in page.records)
        ledger.first_line_at = instants[0]
        if days:
            return
        ledger.add_lines(page.records)
        ledger.has_all_lines = page.next_page_token is None
        ledger.lines_a_day = len(instants) / max((instants[-1] - instants[0]) / _DAY, 1)
        if ledger.is_cash:
            ledger.years = self._years(page.records) if ledger.has_all_lines else self._years_of(ledger.id, self.days)

    def _years(self, lines: Iterable[wire.LineEntry]) -> set[int]:
        """Local years of some lines."""
        return {local_date(as_utc(line.datetime), self._zone).year for line in lines}

    def _years_of(self, ledger_id: str, days: Period) -> set[int]:
        """Years in which a ledger has lines, whatever their order: one request each, and one for each gap."""
        first_and_last = days.start_date, days.end_date
        lines = self._client.iter_line_entries(ledger_id, *first_and_last, time_zone=days.time_zone, limit=1)
        first = next(lines, None)
        if first is None:
            return set()
        found = self._years([first])
        if not days.start_date.year <= min(found) <= max(found) <= days.end_date.year:
            raise ProtocolError(
                f"list line entries of ledger {quote(ledger_id)}, {days}: line {quote(first.id)} of "
                f"{first.datetime.date()} is outside these days; nothing was loaded"
            )
        before, after = dt.date(min(found), 1, 1), dt.date(max(found), 12, 31)
        if days.start_date < before:
            found |= self._years_of(ledger_id, Period(days.start_date, before - _DAY, days.time_zone))
        if after < days.end_date:
            found |= self._years_of(ledger_id, Period(after + _DAY, days.end_date, days.time_zone))
        return found

    def _read_reports(self, years: set[int]) -> None:
        """Read the reports of years that were not read, and add the ledgers that they name."""
        due = sorted(years - self._years_read)
        self._years_read.update(due)

        def read(year: int) -> tuple[int, wire.CashFlowReport]:
            first = max(dt.date(year, 1, 1), self.days.start_date)
            last = min(dt.date(year, 12, 31), self.days.end_date)
            return year, self._client.retrieve_cash_flow_report(first, last, time_zone=self.days.time_zone)

        reports = dict(run_in_parallel(read, due, threads=self._in_flight))
        for year in due:
            self.add_balances(reports[year])
        for year in due:
            self.add_flows(reports[year])

    def _read_rest(self, ledgers: list[_FoundLedger], probed: list[_FoundLedger]) -> None:
        """Read the lines after the first page: those without cash, and of cash ledgers all, where reports lack some."""
        self._note_lines(ledger.first_line_at for ledger in probed)
        days = (self.last_day - self.first_day).days + 1 if self.first_day and self.last_day else 0
        expected = sum(math.ceil(days * ledger.lines_a_day / MAX_LIMIT) for ledger in ledgers)
        if expected > _MANY_REQUESTS:
            show_notice(
                f"finding the ledgers takes up to {expected:,} requests, because the service has no list of them; "
                "local books (sync) keep what was found, and read only what is new"
            )
        self._do_each(self._read_lines, ledgers)
        self._note_lines(ledger.first_line_at for ledger in ledgers)

    def _read_lines(self, ledger: _FoundLedger) -> None:
        """Read the opposing ledgers of the lines of a ledger, and its first line."""

        def read() -> None:
            ledger.add_lines(
                self._client.iter_line_entries(
                    ledger.id,
                    self.days.start_date,
                    self.days.end_date,
                    time_zone=self.days.time_zone,
                    is_cashflow=None if ledger.is_cash or ledger.shown is None else False,
                    expand=("opposing_ledger_ids",),
                )
            )

        restart_on_expired_token(read, attempts=_ATTEMPTS)

    def _first_page(self, ledger_id: str, days: Period, limit: int) -> wire.LineEntryPage:
        """First page that has lines, or the last page."""

        def read(expand: tuple[str, ...]) -> wire.LineEntryPage:
            pages = self._client.iter_line_entry_pages(
                ledger_id, days.start_date, days.end_date, time_zone=days.time_zone, expand=expand, limit=limit
            )
            return next(page for page in pages if page.records or page.next_page_token is None)

        expand = self._expand
        try:
            return restart_on_expired_token(lambda: read(expand), attempts=_ATTEMPTS)
        except ExpiredPageTokenError:
            raise
        except InvalidRequestError:
            if expand == _WITHOUT_PARENTS:
                raise
        page = restart_on_expired_token(lambda: read(_WITHOUT_PARENTS), attempts=_ATTEMPTS)
        self._expand = _WITHOUT_PARENTS  # this service shows no parents
        return page

    def frame(self, parents: Mapping[str, str | None], given: Mapping[RequiredLedger, str]) -> pd.DataFrame:
        """All ledgers found, as a validated table."""
        for ledger_id, parent_id in parents.items():
            self.found[ledger_id].parent_id = parent_id
            self.found[ledger_id].parent_known = True
        self._set_types(Hierarchy({ledger.id: ledger.parent_id for ledger in self.found.values()}))
        ledgers = sorted(self.found.values(), key=lambda ledger: display_order(ledger.sort_code or "", ledger.id))
        dtypes = Ledgers.dtypes()
        rows = pd.DataFrame([_row(ledger, dtypes) for ledger in ledgers], columns=list(dtypes))
        frame = Ledgers.require_valid(rows.astype(dtypes))
        required: dict[RequiredLedger, str] = {}
        for ledger in ledgers:
            known = ledger.fields
            role = known and required_ledger(
                is_required=known.is_required, sub_type=known.sub_type, debit_credit=known.debit_credit
            )
            if role:
                required[role] = ledger.id
        required |= given
        frame.attrs["required"] = {str(role): required[role] for role in RequiredLedger if role in required}
        discovery = Discovery(len(frame), self.first_day, self.days)
        discovery.attach(frame)
        frame.attrs["notes"] = (discovery.claim(), *self._notes(required))
        return frame

    def _set_types(self, hierarchy: Hierarchy) -> None:
        """Give ledgers without a line the type of their tree: a parent and its child have the same type."""
        types: dict[str, set[str]] = defaultdict(set)
        for ledger in self.found.values():
            if ledger.fields is not None:
                types[hierarchy.root(ledger.id)].add(ledger.fields.type)
        for ledger in self.found.values():
            of_tree = types[hierarchy.root(ledger.id)]
            if ledger.fields is not None:
                ledger.type = ledger.fields.type
            elif len(of_tree) == 1:
                (ledger.type,) = of_tree

    def _set_fields(self, ledger: _FoundLedger, fields: wire.Ledger) -> None:
        """Take over the fields of a nested ledger, and add its parent."""
        ledger.fields, ledger.name, ledger.sort_code = fields, fields.name, fields.sort_code
        if fields.parent_id is not msgspec.UNSET:
            ledger.parent_id, ledger.parent_known = fields.parent_id, True
        if fields.parent is msgspec.UNSET:
            return
        ledger.parent_known = True
        if fields.parent is not None:
            ledger.parent_id = fields.parent.id
            parent = self.add(fields.parent.id, f"parent of {fields.name}")
            if parent.fields is None or not parent.parent_known:
                self._set_fields(parent, fields.parent)

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
        if unrecognised:
            yield (
                f"These required ledgers have no line by which to recognise them: {', '.join(unrecognised)}; their ids "
                "can be given."
            )


def _last_accepted(accepted: dt.date, step: int, is_accepted: Callable[[dt.date], bool]) -> dt.date:
    """Return the last day before (-1) or after (1) an accepted one that is accepted too, found by halving."""
    low, high = 0, 2**_HALVINGS
    while high - low > 1:
        middle = (low + high) // 2
        if is_accepted(accepted + step * middle * _DAY):
            low = middle
        else:
            high = middle
    return accepted + step * low * _DAY


def _row(ledger: _FoundLedger, columns: Iterable[str]) -> dict[str, Any]:
    """Columns of a ledger: its fields on the wire, None where they are not known, and what the search found."""
    known = ledger.fields
    return {name: getattr(known, name, None) for name in columns} | {
        "id": ledger.id,
        "name": ledger.name or ledger.id,
        "type": ledger.type,
        "report_cash_flow": known.report_cash_flow if known else bool(ledger.cash),
        "parent_id": ledger.parent_id,
        "sort_code": ledger.sort_code or "",
        "created_at": known and known.created_at and as_utc(known.created_at),
        "found_by": ledger.found_by,
        "parent_known": ledger.parent_known,
    }
