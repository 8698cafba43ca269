"""The cash flow report as the service computes it, as validated frames."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.client import records as wire
from accounting_analytics.client.records import flattened
from accounting_analytics.client.strict_json import decode
from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.errors import AmountError, ProtocolError
from accounting_analytics.core.load_metadata import CHARACTERS_REPLACED, NOISE_REMOVED, count_notes
from accounting_analytics.core.money import parse_amount
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines, ExactReport
from accounting_analytics.loading.arrow_lines import INSTANT, TEXT, require_in_period
from accounting_analytics.loading.page_decoding import instants_in_utc
from accounting_analytics.loading.request import requested_days
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    import msgspec
    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import DateLike, Period, ZoneLike
    from accounting_analytics.core.schemas import Table


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
    period, zone_notes = requested_days(client, start_date, end_date, time_zone)
    tags, read_at = to_texts(tag_ids), dt.datetime.now(dt.UTC)
    report = client.retrieve_cash_flow_report(
        period.start_date, period.end_date, time_zone=period.time_zone, tag_ids=tags
    )
    loaded = _to_report(client, period, report, tags, read_at)
    return dataclasses.replace(loaded, notes=(*loaded.notes, *zone_notes))


class ReportWithDigest(NamedTuple):
    """A report of the service, and the SHA-256 of its JSON."""

    report: CashFlowReport
    digest: str


def load_report_if_changed(client: LedgerClient, period: Period, digest: str) -> ReportWithDigest | None:
    """Load the report of a period, or return None if its digest equals `digest`."""
    read_at = dt.datetime.now(dt.UTC)

    def decode_changed(content: bytes) -> tuple[str, wire.CashFlowReport | None]:
        found = hashlib.sha256(content).hexdigest()
        return found, None if found == digest else decode(content, wire.CashFlowReport)

    found, report = client.retrieve_decoded_report(period, decode_changed)
    return None if report is None else ReportWithDigest(_to_report(client, period, report, (), read_at), found)


def _to_report(
    client: LedgerClient, period: Period, report: wire.CashFlowReport, tags: tuple[str, ...], read_at: dt.datetime
) -> CashFlowReport:
    """Convert wire records to a report of validated tables."""
    where = f"cash flow report, {period}"
    tables = _WireTables(client, where)
    ledgers = list(flattened(report.cash_flow_ledgers))
    lines = [line for ledger in ledgers for line in ledger.lines]
    starting = tables.table(CashBalances, list(flattened(report.starting_balances)))
    ending = tables.table(CashBalances, list(flattened(report.ending_balances)))
    instants = instants_in_utc([line.datetime for line in lines], where)
    ids = pa.array([line.line_id for line in lines], TEXT)
    require_in_period(pa.table({"id": ids, "datetime": pa.array(instants, INSTANT)}), period, where)
    loaded = CashFlowReport(
        period,
        ExactReport(
            ledgers=tables.table(CashFlowLedgers, ledgers),
            lines=tables.table(
                CashFlowLines,
                lines,
                subject="line ",
                ledger_id=[ledger.ledger_id for ledger in ledgers for _ in ledger.lines],
                datetime=instants,
            ),
            starting_balances=starting,
            ending_balances=ending,
            starting_cash_balance=tables.exact(report.starting_cash_balance, "starting_cash_balance"),
            ending_cash_balance=tables.exact(report.ending_cash_balance, "ending_cash_balance"),
        ).checked(),
        tag_ids=tags,
        origin="loaded",
        read_at=read_at,
        company=client.company,
        currency=client.currency,
    )
    notes = count_notes((tables.noise_removed, *NOISE_REMOVED), (report.characters_replaced, *CHARACTERS_REPLACED))
    return dataclasses.replace(loaded, notes=notes)


class _WireTables:
    """Converter of a response to tables with exact amounts. It counts amounts with rounding noise."""

    def __init__(self, client: LedgerClient, where: str) -> None:
        self._scale = client.scale
        self._where = where
        self.noise_removed = 0

    def exact(self, value: Decimal, field: str) -> Decimal:
        try:
            amount, had_noise = parse_amount(value, self._scale)
        except AmountError as error:
            raise ProtocolError(f"{self._where}: {field}: {error}") from None
        self.noise_removed += had_noise
        return amount

    def table(
        self, kind: type[Table], records: Sequence[msgspec.Struct], *, subject: str = "", **given: Sequence[Any]
    ) -> pd.DataFrame:
        """Create a table from wire records. Columns in `given` replace fields.

        Fields and columns have the same names. Messages identify a record by `subject` and its first column.
        """
        columns = {name: given.get(name) or [getattr(record, name) for record in records] for name in kind.dtypes()}
        ids = next(iter(columns.values()))
        for name in kind.amount_columns():
            columns[name] = [
                None if value is None else self.exact(value, f"{name} of {subject}{record_id}")
                for value, record_id in zip(columns[name], ids, strict=True)
            ]
        return kind.exact_from_columns(columns, self._scale)
