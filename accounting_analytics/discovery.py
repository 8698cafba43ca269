"""The chart of accounts, crawled to closure: the service lists no ledgers, so they are found by what points at them.

The balances of a cash flow report name the ledgers that report cash flow, its flows the categories they moved, the
lines of these the ledgers opposite, and nested ledgers the parents. A ledger that never had a line opposite a
discovered one in the period stays invisible; ``attrs["notes"]`` says so.
"""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from accounting_analytics.chart_of_accounts import Hierarchy, RequiredLedger, display_order, required_ledger
from accounting_analytics.client.records import flattened
from accounting_analytics.loader.ledger_probe import LedgerLook, Seen
from accounting_analytics.loader.line_entries import DEFAULT_IN_FLIGHT, checked_in_flight
from accounting_analytics.loader.worker_pool import Crew
from accounting_analytics.periods import Period
from accounting_analytics.progress import progress_bar
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire

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
    inflow_ledger_id: str | None = None,
    outflow_ledger_id: str | None = None,
    transfers_ledger_id: str | None = None,
    opening_balance_ledger_id: str | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
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
    inflow_ledger_id, outflow_ledger_id, transfers_ledger_id, opening_balance_ledger_id : str, optional
        The required ledger of that role, where it is not to be recognised.
    in_flight : int
        How many requests at once at most.
    progress : bool, optional
        A progress bar; None shows one where somebody is watching.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`, ordered by (sort_code, id). ``found_by`` says how each was met,
        ``parent_known`` whether its parent is certain, ``attrs["notes"]`` what cannot be seen, ``attrs["required"]``
        which ledger has which of the four required roles.

    Raises
    ------
    ServiceError
        The service failed.
    HierarchyError
        The parents form a cycle.
    """
    period = Period.of(start_date, end_date, time_zone)
    at_once = checked_in_flight(in_flight)
    pinned = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
        RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: transfers_ledger_id,
        RequiredLedger.OPENING_BALANCE: opening_balance_ledger_id,
    }
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=time_zone)
    crawl = _Crawl(LedgerLook(client, period))
    for balance in (*flattened(report.starting_balances), *flattened(report.ending_balances)):
        crawl.meet(balance.ledger_id, "cash balance", name=balance.ledger_name, sort_code=balance.sort_code, cash=True)
    for flow in flattened(report.cash_flow_ledgers):
        crawl.meet(flow.ledger_id, "cash flow", name=flow.name)
    for ledger_id in (*(parents or {}), *filter(None, (parents or {}).values())):
        crawl.meet(ledger_id, "given parents")
    for role, pin in pinned.items():
        if pin is not None:
            crawl.meet(pin, f"given as {role}")
    with progress_bar(progress, desc="ledgers", unit=" ledgers") as bar:
        while crawl.waiting:
            bar.update(crawl.visit_waiting(at_once))
    return crawl.frame(parents or {}, {role: pin for role, pin in pinned.items() if pin is not None})


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
    """A walk from ledger to ledger, each visited once, all that wait at the same time."""

    look: LedgerLook
    met: dict[str, _Met] = field(default_factory=dict)
    waiting: list[_Met] = field(default_factory=list)

    def meet(self, ledger_id: str, found_by: str, **known: Any) -> _Met:  # noqa: ANN401 (fields of _Met)
        """Remember a ledger, and let it wait for a visit when it is new."""
        ledger = self.met.get(ledger_id)
        if ledger is None:
            ledger = self.met[ledger_id] = _Met(ledger_id, found_by)
            self.waiting.append(ledger)
        for name, value in known.items():
            if getattr(ledger, name) is None:
                setattr(ledger, name, value)
        return ledger

    def visit_waiting(self, in_flight: int) -> int:
        """Visit all ledgers that wait, at the same time; return how many there were."""
        waiting, self.waiting = self.waiting, []
        crew: Crew[_Met, tuple[str, Seen]] = Crew(
            lambda ledger: (ledger.id, self.look.at(ledger.id, is_cash=bool(ledger.cash))),
            size=lambda ledger: bool(ledger.cash),
            threads=in_flight,
            stop=threading.Event(),
        )
        seen = dict(crew.outcomes(waiting))
        if any(ledger.cash and not seen[ledger.id].opposing <= self.met.keys() for ledger in waiting):
            self._read_cash_wholly(in_flight, seen)
        for ledger in waiting:  # in the order met, whoever answered first
            found = seen[ledger.id]
            if found.fields is not None:
                self._learn(ledger, found.fields)
            for opposing_id in sorted(found.opposing):
                self.meet(opposing_id, f"opposing ledger of {ledger.name or ledger.id}")
        return len(waiting)

    def _read_cash_wholly(self, in_flight: int, seen: dict[str, Seen]) -> None:
        """Read all lines of the cash ledgers: this service's report does not name all that stands opposite cash."""
        unread = [ledger_id for ledger_id, one in seen.items() if self.met[ledger_id].cash and not one.whole]
        crew: Crew[str, tuple[str, Seen]] = Crew(
            lambda ledger_id: (ledger_id, self.look.at_every_line(ledger_id, seen[ledger_id])),
            size=lambda _: 1,
            threads=in_flight,
            stop=threading.Event(),
        )
        seen.update(crew.outcomes(unread))

    def frame(self, parents: Mapping[str, str | None], pinned: Mapping[RequiredLedger, str]) -> pd.DataFrame:
        """Everything met, as a validated table."""
        for ledger_id, parent_id in parents.items():
            self.met[ledger_id].parent_id = parent_id
            self.met[ledger_id].parent_known = True
        Hierarchy({ledger.id: ledger.parent_id for ledger in self.met.values()})
        ledgers = sorted(self.met.values(), key=lambda ledger: display_order(ledger.sort_code or "", ledger.id))
        dtypes = Ledgers.dtypes()
        rows = pd.DataFrame([_row(ledger) for ledger in ledgers], columns=list(dtypes))
        frame = Ledgers.checked(rows.astype(dtypes))
        recognised = {role: ledger.id for ledger in ledgers if (role := _role(ledger)) is not None}
        required = {**recognised, **pinned}
        frame.attrs["required"] = {str(role): required[role] for role in RequiredLedger if role in required}
        frame.attrs["notes"] = tuple(self._notes(required))
        return frame

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

    def _notes(self, required: Mapping[RequiredLedger, str]) -> Iterator[str]:
        yield _BLIND_SPOT
        unknown = [ledger.name or ledger.id for ledger in self.met.values() if not ledger.parent_known]
        if unknown:
            yield (
                f"The parent of {len(unknown)} ledger(s) is not known, so totals over them are not either; "
                f"parents= supplies it: {', '.join(sorted(unknown)[:5])}."
            )
        bare = [ledger.name or ledger.id for ledger in self.met.values() if ledger.fields is None]
        if bare:
            yield (
                f"{len(bare)} ledger(s) never had a line that the service shows, so type, side and parent are not "
                f"known: {', '.join(sorted(bare)[:5])}."
            )
        unseen = [str(role) for role in RequiredLedger if role not in required]
        if unseen:
            yield (
                f"Of the required ledgers these had no line to be recognised by: {', '.join(unseen)}; their ids may be "
                "given."
            )


def _role(ledger: _Met) -> RequiredLedger | None:
    known = ledger.fields
    if known is None:
        return None
    return required_ledger(is_required=known.is_required, sub_type=known.sub_type, debit_credit=known.debit_credit)


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
