"""The chart of accounts, found by following references: the service has no operation that lists ledgers.

The balances of a cash flow report name the ledgers that report cash flow, its flows name categories, the lines of these
name opposing ledgers, and nested ledgers name parents. A ledger without a line opposite a discovered one in the period
cannot be found; ``attrs["notes"]`` states that.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pandas as pd

from accounting_analytics.chart_of_accounts import Hierarchy, RequiredLedger, display_order, required_ledger
from accounting_analytics.client.pagination import restart_on_expired_token
from accounting_analytics.client.records import flattened
from accounting_analytics.errors import ExpiredPageTokenError, InputError, InvalidRequestError, NotFoundError
from accounting_analytics.loader.load_request import requested_days
from accounting_analytics.loader.worker_pool import DEFAULT_IN_FLIGHT, WorkerPool, check_in_flight
from accounting_analytics.local_books import LocalBooks, days_of_books, refuse_options
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.periods import as_utc
from accounting_analytics.progress import progress_bar
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire
    from accounting_analytics.periods import DateLike, Period, ZoneLike

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent", "opposing_ledger_ids")
_WITHOUT_PARENTS = ("ledger", "opposing_ledger_ids")
_ALL_DAYS = ("0001-01-01", "9999-12-31")
_ATTEMPTS = 6
_LIMIT = 200
"""Few enough for a small response with nested ledgers, enough for all lines of most categories."""
_LIMITATION = (
    "The service has no list of ledgers: one that shares no journal entry of the period with these is not found. A "
    "longer period finds more."
)
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
    """Discover the ledgers that are used in a period.

    Parameters
    ----------
    client : LedgerClient or Books
        The service, or local books, which return all ledgers of their chart of accounts, whatever the days.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a time zone,
        or periods of pandas (the first day of the one, the last of the other).
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
        found, ``parent_known`` whether its parent is certain, ``attrs["notes"]`` what cannot be found,
        ``attrs["required"]`` which ledger has which of the four required roles.

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
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=period.time_zone)
    search = _LedgerSearch(client, period, in_flight)
    for balance in (*flattened(report.starting_balances), *flattened(report.ending_balances)):
        search.add(balance.ledger_id, "cash balance", name=balance.ledger_name, sort_code=balance.sort_code, cash=True)
    for flow in flattened(report.cash_flow_ledgers):
        search.add(flow.ledger_id, "cash flow", name=flow.name)
    for ledger_id in (*(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, _GIVEN_PARENTS)
    given = {role: ledger_id for role, ledger_id in roles.items() if ledger_id is not None}
    for role, ledger_id in given.items():
        search.add(ledger_id, f"given as {role}")
    with progress_bar(progress, desc="ledgers", unit=" ledgers") as bar:
        while search.unprobed:
            bar.update(search.probe_new())
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

    With `since_first_line` it is their first line of any day, and ``attrs["first_line_at"]`` the earliest of these.
    """
    first_day = _ALL_DAYS[0] if since_first_line else days.start_date
    search = _LedgerSearch(client, days, DEFAULT_IN_FLIGHT, frozenset(known["id"]), first_day)
    for row in known.to_dict("records"):
        search.add(
            row["id"], row["found_by"], name=row["name"], sort_code=row["sort_code"], cash=row["report_cash_flow"]
        )
    for ledger_id in (*new_ids, *(parents or {}), *filter(None, (parents or {}).values())):
        search.add(ledger_id, "a line or a report")
    while search.unprobed:
        search.probe_new()
    found = search.frame(parents or {}, {RequiredLedger(role): one for role, one in known.attrs["required"].items()})
    if since_first_line and search.first_line_at:
        found.attrs["first_line_at"] = search.first_line_at.isoformat()
    return found


@dataclass
class _FoundLedger:
    """What is known of a ledger so far."""

    id: str
    found_by: str
    name: str | None = None
    sort_code: str | None = None
    cash: bool | None = None
    fields: wire.Ledger | None = None
    type: str | None = None
    parent_id: str | None = None
    parent_known: bool = False


class _ProbedLedger(NamedTuple):
    """What the lines of a ledger show: its fields, None without lines, and the opposing ledgers of these lines.

    `first_line_at` is the instant of the one line that is read of a known ledger.
    """

    fields: wire.Ledger | None
    opposing: frozenset[str]
    has_all_lines: bool
    first_line_at: dt.datetime | None = None


class _LedgerSearch:
    """Ledgers found so far; each is probed once, and all new ones in parallel; of those that are known, one line.

    `first_line_at` is the earliest instant of the lines of known ledgers, which are read from `first_day_of_known`.
    """

    def __init__(
        self,
        client: LedgerClient,
        period: Period,
        in_flight: int,
        known: frozenset[str] = frozenset(),
        first_day_of_known: dt.date | str | None = None,
    ) -> None:
        self._known = known
        self._first_day_of_known = first_day_of_known or period.start_date
        self.first_line_at: dt.datetime | None = None
        self._client = client
        self._period = period
        self._in_flight = in_flight
        self._expand: tuple[str, ...] = _WITH_PARENTS
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

    def probe_new(self) -> int:
        """Probe all new ledgers in parallel; return how many there were."""
        ledgers, self.unprobed = self.unprobed, []
        pool: WorkerPool[_FoundLedger, tuple[str, _ProbedLedger]] = WorkerPool(
            lambda ledger: (ledger.id, self._probe(ledger)),
            size=lambda ledger: bool(ledger.cash),
            threads=self._in_flight,
        )
        probed = dict(pool.results(ledgers))
        if any(ledger.cash and not probed[ledger.id].opposing <= self.found.keys() for ledger in ledgers):
            self._probe_all_cash_lines(probed)
        for ledger in ledgers:  # in the order found, whichever response arrived first
            result = probed[ledger.id]
            if result.first_line_at is not None:
                self.first_line_at = min(result.first_line_at, self.first_line_at or result.first_line_at)
            if result.fields is not None:
                self._set_fields(ledger, result.fields)
            for opposing_id in sorted(result.opposing):
                self.add(opposing_id, f"opposing ledger of {ledger.name or ledger.id}")
        return len(ledgers)

    def _probe(self, ledger: _FoundLedger) -> _ProbedLedger:
        """Probe a ledger, with one request where it has few lines.

        The report names what is opposite cash. So of a cash ledger with many lines one page is enough, and of any other
        ledger with many lines only those of entries that do not touch cash are read.
        """
        is_known = ledger.id in self._known
        first_day, limit = (self._first_day_of_known, 1) if is_known else (self._period.start_date, _LIMIT)
        try:
            page = self._first_page(ledger.id, first_day, self._period.end_date, limit)
        except NotFoundError:
            if ledger.found_by != _GIVEN_PARENTS:
                raise
            raise InputError(
                f"parents: ledger {quote(ledger.id)} does not exist in this instance; correct its id"
            ) from None
        if is_known:
            if not page.records:
                return _ProbedLedger(None, frozenset(), has_all_lines=True)
            first = page.records[0]
            return _ProbedLedger(first.ledger, frozenset(), has_all_lines=True, first_line_at=as_utc(first.datetime))
        fields = page.records[0].ledger if page.records else self._fields_at_any_time(ledger.id)
        opposing = _opposing_ids(page.records)
        if page.next_page_token is None or ledger.cash:
            return _ProbedLedger(fields, opposing, has_all_lines=page.next_page_token is None)
        is_cashflow = None if fields is None or fields.report_cash_flow else False
        return _ProbedLedger(fields, opposing | self._read_opposing(ledger.id, is_cashflow), has_all_lines=True)

    def _probe_all_cash_lines(self, probed: dict[str, _ProbedLedger]) -> None:
        """Read all lines of the cash ledgers: the report of this service does not name all their opposing ledgers."""
        incomplete = [
            ledger_id for ledger_id, one in probed.items() if self.found[ledger_id].cash and not one.has_all_lines
        ]
        pool: WorkerPool[str, tuple[str, frozenset[str]]] = WorkerPool(
            lambda ledger_id: (ledger_id, self._read_opposing(ledger_id, is_cashflow=None)),
            size=lambda _: 1,
            threads=self._in_flight,
        )
        for ledger_id, opposing in pool.results(incomplete):
            one = probed[ledger_id]
            probed[ledger_id] = one._replace(opposing=one.opposing | opposing, has_all_lines=True)

    def _fields_at_any_time(self, ledger_id: str) -> wire.Ledger | None:
        try:
            page = self._first_page(ledger_id, *_ALL_DAYS, 1)
        except InvalidRequestError:
            return None  # some deployments refuse days before the start of the books
        return page.records[0].ledger if page.records else None

    def _first_page(
        self, ledger_id: str, start_date: dt.date | str, end_date: dt.date | str, limit: int
    ) -> wire.LineEntryPage:
        """First page that has lines, or the last page."""

        def read(expand: tuple[str, ...]) -> wire.LineEntryPage:
            pages = self._client.iter_line_entry_pages(
                ledger_id, start_date, end_date, time_zone=self._period.time_zone, expand=expand, limit=limit
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

    def _read_opposing(self, ledger_id: str, is_cashflow: bool | None) -> frozenset[str]:  # noqa: FBT001 (a filter)
        def read() -> frozenset[str]:
            lines = self._client.iter_line_entries(
                ledger_id,
                self._period.start_date,
                self._period.end_date,
                time_zone=self._period.time_zone,
                is_cashflow=is_cashflow,
                expand=("opposing_ledger_ids",),
            )
            return _opposing_ids(lines)

        return restart_on_expired_token(read, attempts=_ATTEMPTS)

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
        frame.attrs["notes"] = tuple(self._notes(required))
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
        yield _LIMITATION
        unknown = [ledger.name or ledger.id for ledger in self.found.values() if not ledger.parent_known]
        if unknown:
            yield (
                f"The parent of {len(unknown)} ledger(s) is unknown, so totals over them may be too; give it as "
                f"parents= (--parents): {join_ids(unknown)}."
            )
        without_lines = [ledger.name or ledger.id for ledger in self.found.values() if ledger.fields is None]
        if without_lines:
            yield (
                f"{len(without_lines)} ledger(s) have no line, so side and sub_type are unknown, and the type where "
                f"the parents do not show it: {join_ids(without_lines)}."
            )
        unrecognised = [str(role) for role in RequiredLedger if role not in required]
        if unrecognised:
            yield (
                f"These required ledgers have no line by which to recognise them: {', '.join(unrecognised)}; their ids "
                "can be given."
            )


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


def _opposing_ids(lines: Iterable[wire.LineEntry]) -> frozenset[str]:
    return frozenset(ledger_id for line in lines for ledger_id in line.opposing_ledger_ids or ())
