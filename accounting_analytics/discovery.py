"""The chart of accounts, crawled to closure: the service lists no ledgers, so they are found by what points at them.

The balances of a cash flow report name the ledgers that report cash flow, its flows the categories they moved, the
lines of these the ledgers opposite, and nested ledgers the parents. A ledger that never had a line opposite a
discovered one in the period stays invisible; ``attrs["notes"]`` says so.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from accounting_analytics.chart_of_accounts import Hierarchy, display_order
from accounting_analytics.client.records import flattened
from accounting_analytics.errors import InvalidRequestError
from accounting_analytics.periods import Period
from accounting_analytics.progress import progress_bar
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent")
_WITHOUT_PARENTS = ("ledger",)
_EVER = ("0001-01-01", "9999-12-31")
_BLIND_SPOT = (
    "A ledger without a line opposite one of these in the period cannot be seen: the service lists no ledgers. "
    "A longer period finds more."
)


def discover_ledgers(
    client: LedgerClient,
    start_date: dt.date | str,
    end_date: dt.date | str,
    *,
    time_zone: str = "UTC",
    parents: Mapping[str, str | None] | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Discover the ledgers that the books of a period touch.

    Parameters
    ----------
    client : LedgerClient
        The service.
    start_date, end_date : datetime.date or str
        First and last day, both inclusive, local to `time_zone`.
    parents : mapping, optional
        Ledger id to parent id (None for a root), where the service does not tell.
    progress : bool, optional
        A progress bar; None shows one where somebody is watching.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`, ordered by (sort_code, id). ``found_by`` says how each was met,
        ``parent_known`` whether its parent is certain, ``attrs["notes"]`` what cannot be seen.

    Raises
    ------
    ServiceError
        The service failed.
    HierarchyError
        The parents form a cycle.
    """
    period = Period.of(start_date, end_date, time_zone)
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=time_zone)
    crawl = _Crawl(client, period)
    for balance in (*flattened(report.starting_balances), *flattened(report.ending_balances)):
        crawl.meet(balance.ledger_id, "cash balance", name=balance.ledger_name, sort_code=balance.sort_code, cash=True)
    for flow in flattened(report.cash_flow_ledgers):
        crawl.meet(flow.ledger_id, "cash flow", name=flow.name)
    for ledger_id in (*(parents or {}), *filter(None, (parents or {}).values())):
        crawl.meet(ledger_id, "given parents")
    with progress_bar(progress, desc="ledgers", unit=" ledgers") as bar:
        while crawl.waiting:
            crawl.visit(crawl.waiting.popleft())
            bar.update()
    return crawl.frame(parents or {})


@dataclass
class _Met:
    """What is known of a ledger so far."""

    id: str
    found_by: str
    name: str | None = None
    sort_code: str | None = None
    cash: bool | None = None
    fields: wire.Ledger | None = None
    parent_id: str | None = None
    parent_known: bool = False


@dataclass
class _Crawl:
    """A walk from ledger to ledger, each visited once."""

    client: LedgerClient
    period: Period
    met: dict[str, _Met] = field(default_factory=dict)
    waiting: deque[_Met] = field(default_factory=deque)
    expand: tuple[str, ...] = _WITH_PARENTS

    def meet(self, ledger_id: str, found_by: str, **known: Any) -> _Met:  # noqa: ANN401 (fields of _Met)
        """Remember a ledger, and put it in the queue when it is new."""
        ledger = self.met.get(ledger_id)
        if ledger is None:
            ledger = self.met[ledger_id] = _Met(ledger_id, found_by)
            self.waiting.append(ledger)
        for name, value in known.items():
            if getattr(ledger, name) is None:
                setattr(ledger, name, value)
        return ledger

    def visit(self, ledger: _Met) -> None:
        """Read the ledger's own fields from one of its lines, and meet what stands opposite its lines."""
        first = self._one_line(ledger.id)
        if first is None:
            return
        if first.ledger is not None:
            self._learn(ledger, first.ledger)
        # What stands opposite cash is met from the cash ledgers; a category shows something new only away from cash.
        is_cash = ledger.fields.report_cash_flow if ledger.fields is not None else bool(ledger.cash)
        for opposing_id in self._opposing(ledger.id, is_cashflow=None if is_cash else False):
            self.meet(opposing_id, f"opposing ledger of {ledger.name or ledger.id}")

    def frame(self, parents: Mapping[str, str | None]) -> pd.DataFrame:
        """Everything met, as a validated table."""
        for ledger_id, parent_id in parents.items():
            self.met[ledger_id].parent_id = parent_id
            self.met[ledger_id].parent_known = True
        Hierarchy({ledger.id: ledger.parent_id for ledger in self.met.values()})
        ledgers = sorted(self.met.values(), key=lambda ledger: display_order(ledger.sort_code or "", ledger.id))
        dtypes = Ledgers.dtypes()
        rows = pd.DataFrame([_row(ledger) for ledger in ledgers], columns=list(dtypes))
        frame = Ledgers.checked(rows.astype(dtypes))
        frame.attrs["notes"] = tuple(self._notes())
        return frame

    def _one_line(self, ledger_id: str) -> wire.LineEntry | None:
        """One line of the ledger: in the period, else whenever the service shows one."""
        within = (self.period.start_date, self.period.end_date)
        for days in (within, _EVER):
            try:
                lines = self._list(ledger_id, *days)
            except InvalidRequestError:
                if days == within:
                    raise
                return None  # some deployments refuse to look before the start of the books
            if lines:
                return lines[0]
        return None

    def _list(self, ledger_id: str, start_date: dt.date | str, end_date: dt.date | str) -> list[wire.LineEntry]:
        def listed(expand: tuple[str, ...]) -> list[wire.LineEntry]:
            return self.client.list_line_entries(
                ledger_id, start_date, end_date, time_zone=self.period.time_zone, expand=expand, limit=1
            ).records

        try:
            return listed(self.expand)
        except InvalidRequestError:
            if self.expand == _WITHOUT_PARENTS:
                raise
        lines = listed(_WITHOUT_PARENTS)
        self.expand = _WITHOUT_PARENTS
        return lines

    def _opposing(self, ledger_id: str, *, is_cashflow: bool | None) -> Iterator[str]:
        lines = self.client.iter_line_entries(
            ledger_id,
            self.period.start_date,
            self.period.end_date,
            time_zone=self.period.time_zone,
            is_cashflow=is_cashflow,
            expand=("opposing_ledger_ids",),
        )
        for line in lines:
            yield from line.opposing_ledger_ids or ()

    def _learn(self, ledger: _Met, fields: wire.Ledger) -> None:
        """Take over the fields of a nested ledger, and meet its parent."""
        ledger.fields, ledger.name, ledger.sort_code = fields, fields.name, fields.sort_code
        if fields.parent_id is not msgspec.UNSET:
            ledger.parent_id, ledger.parent_known = fields.parent_id, True
        if fields.parent is msgspec.UNSET:
            return
        ledger.parent_known = True
        if fields.parent is not None:
            ledger.parent_id = fields.parent.id
            parent = self.meet(fields.parent.id, f"parent of {fields.name}")
            if parent.fields is None or not parent.parent_known:
                self._learn(parent, fields.parent)

    def _notes(self) -> Iterator[str]:
        yield _BLIND_SPOT
        unknown = [ledger for ledger in self.met.values() if not ledger.parent_known]
        if unknown:
            yield (
                f"The parent of {len(unknown)} ledger(s) is not known, so totals over them are not either; "
                "parents= supplies it."
            )
        bare = [ledger.name or ledger.id for ledger in self.met.values() if ledger.fields is None]
        if bare:
            yield (
                f"{len(bare)} ledger(s) never had a line that the service shows, so type, side and parent are not "
                f"known: {', '.join(sorted(bare)[:5])}."
            )


def _row(ledger: _Met) -> dict[str, Any]:
    known = ledger.fields
    return {
        "id": ledger.id,
        "name": ledger.name or ledger.id,
        "type": known and known.type,
        "sub_type": known and known.sub_type,
        "debit_credit": known and known.debit_credit,
        "financial_account_type": known and known.financial_account_type,
        "report_cash_flow": known.report_cash_flow if known else bool(ledger.cash),
        "is_required": known and known.is_required,
        "editable": known and known.editable,
        "parent_id": ledger.parent_id,
        "sort_code": ledger.sort_code or "",
        "created_at": known and _in_utc(known.created_at),
        "found_by": ledger.found_by,
        "parent_known": ledger.parent_known,
    }


def _in_utc(instant: dt.datetime | None) -> dt.datetime | None:
    """Nested ledgers may come without a zone designator: then it is UTC."""
    return instant.replace(tzinfo=dt.UTC) if instant is not None and instant.tzinfo is None else instant
