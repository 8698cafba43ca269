"""The cash flow report as the service computes it, as validated frames."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accounting_analytics.arguments import require_type, to_texts
from accounting_analytics.cash_flow_report import CashFlowReport
from accounting_analytics.client import LedgerClient
from accounting_analytics.client.records import flattened
from accounting_analytics.errors import AmountError, ProtocolError
from accounting_analytics.load_metadata import CHARACTERS_REPLACED, NOISE_REMOVED, count_notes
from accounting_analytics.loader.line_tables import INSTANT, TEXT, require_in_period
from accounting_analytics.loader.strict_page_decoder import instants_in_utc
from accounting_analytics.money import parse_amount
from accounting_analytics.periods import Period, choose_zone
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.client import records as wire
    from accounting_analytics.periods import DateLike, ZoneLike
    from accounting_analytics.schemas import Table


def load_cash_flow_report(
    client: LedgerClient,
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    tag_ids: Iterable[str] | None = None,
) -> CashFlowReport:
    """Load the cash flow report of a period as the service computes it.

    Ledgers and lines keep the order of the service.

    Parameters
    ----------
    client : LedgerClient
        The service.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a time zone,
        or periods of pandas (the first day of the one, the last of the other).
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default the client's, else UTC, which is then noted.
    tag_ids : iterable of str, optional
        Only cash flow lines that carry all these tags; balances are never filtered.

    Returns
    -------
    CashFlowReport
        Four validated tables, two exact balances, and notes on values that were normalized.

    Raises
    ------
    ServiceError
        The service failed or broke its interface; a line outside the period is refused too.
    """
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    day_zone = choose_zone(time_zone, client.time_zone)
    period = Period(start_date, end_date, day_zone.name)
    tags, read_at = to_texts(tag_ids), dt.datetime.now(dt.UTC)
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=day_zone.name, tag_ids=tags)
    amounts = _ReportAmounts(client, f"cash flow report, {period}")
    ledgers = list(flattened(report.cash_flow_ledgers))
    starting = _balances_table(list(flattened(report.starting_balances)), amounts)
    ending = _balances_table(list(flattened(report.ending_balances)), amounts)
    loaded = CashFlowReport(
        period=period,
        ledgers=_ledgers_table(ledgers, amounts),
        lines=_lines_table(ledgers, amounts, period),
        starting_balances=starting,
        ending_balances=ending,
        starting_cash_balance=amounts.exact(report.starting_cash_balance, "starting_cash_balance"),
        ending_cash_balance=amounts.exact(report.ending_cash_balance, "ending_cash_balance"),
        tag_ids=tags,
        origin="loaded",
        read_at=read_at,
    )
    notes = count_notes((amounts.noise_removed, NOISE_REMOVED), (report.characters_replaced, CHARACTERS_REPLACED))
    return dataclasses.replace(loaded, notes=(*notes, *day_zone.notes)).checked()


class _ReportAmounts:
    """Exact amounts of one response; counts the values from which rounding noise was removed."""

    def __init__(self, client: LedgerClient, where: str) -> None:
        self._scale = client.scale
        self._as_decimals = client.amounts == "decimal"
        self.where = where
        self.noise_removed = 0

    def exact(self, value: Decimal, field: str) -> Decimal:
        try:
            amount, had_noise = parse_amount(value, self._scale)
        except AmountError as error:
            msg = f"{self.where}: {field}: {error}"
            raise ProtocolError(msg) from None
        self.noise_removed += had_noise
        return amount

    def exact_or_none(self, value: Decimal | None, field: str) -> Decimal | None:
        return None if value is None else self.exact(value, field)

    def table(self, kind: type[Table], columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """Table of one part of the report, with its amounts as the client returns them."""
        try:
            return kind.from_columns(columns, self._scale, as_decimals=self._as_decimals)
        except AmountError as error:
            msg = f"{self.where}: {error}"
            raise AmountError(msg) from None


def _ledgers_table(ledgers: Sequence[wire.CashFlowLedger], amounts: _ReportAmounts) -> pd.DataFrame:
    return amounts.table(
        CashFlowLedgers,
        {
            "ledger_id": [one.ledger_id for one in ledgers],
            "name": [one.name for one in ledgers],
            "net_cash_flow": [amounts.exact(one.net_cash_flow, f"net_cash_flow of {one.ledger_id}") for one in ledgers],
            "total_net_cash_flow": [
                amounts.exact_or_none(one.total_net_cash_flow, f"total_net_cash_flow of {one.ledger_id}")
                for one in ledgers
            ],
        },
    )


def _lines_table(ledgers: Sequence[wire.CashFlowLedger], amounts: _ReportAmounts, period: Period) -> pd.DataFrame:
    lines = [(one.ledger_id, line) for one in ledgers for line in one.lines]
    ids = [line.line_id for _, line in lines]
    instants = instants_in_utc([line.datetime for _, line in lines], amounts.where)
    require_in_period(
        pa.table({"id": pa.array(ids, TEXT), "datetime": pa.array(instants, INSTANT)}), period, amounts.where
    )
    return amounts.table(
        CashFlowLines,
        {
            "line_id": ids,
            "ledger_id": [ledger_id for ledger_id, _ in lines],
            "amount": [amounts.exact(line.amount, f"amount of line {line.line_id}") for _, line in lines],
            "datetime": instants,
            "cash_flow_ledger_name": [line.cash_flow_ledger_name for _, line in lines],
            "journal_entry_id": [line.journal_entry_id for _, line in lines],
            "journal_entry_description": [line.journal_entry_description for _, line in lines],
        },
    )


def _balances_table(balances: Sequence[wire.CashLedgerBalance], amounts: _ReportAmounts) -> pd.DataFrame:
    return amounts.table(
        CashBalances,
        {
            "ledger_id": [one.ledger_id for one in balances],
            "ledger_name": [one.ledger_name for one in balances],
            "sort_code": [one.sort_code for one in balances],
            "cash_balance": [amounts.exact(one.cash_balance, f"cash_balance of {one.ledger_id}") for one in balances],
            "total_cash_balance": [
                amounts.exact_or_none(one.total_cash_balance, f"total_cash_balance of {one.ledger_id}")
                for one in balances
            ],
        },
    )
