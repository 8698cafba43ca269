"""Responses of the service for the checks of the books; each request is sent once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from accounting_analytics.cash_flow_report import CashFlowReport
from accounting_analytics.errors import AccountingAnalyticsError
from accounting_analytics.loader import load_cash_flow_report, load_line_entries
from accounting_analytics.schemas import LineEntries

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import Period

Response = TypeVar("Response")

_EXPANSIONS = ("journal_entry", "opposing_ledger_ids")


class CachedResponses:
    """Reports and lines of the service; a repeated request returns the first response, or raises its error again."""

    def __init__(self, client: LedgerClient) -> None:
        self.client = client
        self._results: dict[Hashable, object] = {}
        self._names: dict[str, str] = {}

    def report(self, period: Period) -> CashFlowReport:
        """Cash flow report of a period, with decimals."""
        days = (period.start_date, period.end_date)
        report = self._request_once(
            period, lambda: load_cash_flow_report(self.client, *days, time_zone=period.time_zone).exact()
        )
        for frame, column in (
            (report.ledgers, "name"),
            (report.starting_balances, "ledger_name"),
            (report.ending_balances, "ledger_name"),
        ):
            self._names.update(zip(frame["ledger_id"], frame[column], strict=True))
        return report

    def lines(
        self,
        ledger_ids: Iterable[str],
        period: Period,
        *,
        is_cashflow: bool | None = True,
    ) -> pd.DataFrame:
        """Line entries of some ledgers, with decimals."""
        ids = tuple(ledger_ids)
        return self._request_once(
            (ids, period, is_cashflow),
            lambda: (
                LineEntries.exact(
                    load_line_entries(
                        self.client,
                        ids,
                        period.start_date,
                        period.end_date,
                        time_zone=period.time_zone,
                        is_cashflow=is_cashflow,
                        expand=_EXPANSIONS,
                        progress=False,
                    )
                ).frame
            ),
        )

    def reports(self) -> list[CashFlowReport]:
        """All reports requested so far."""
        return [result for result in self._results.values() if isinstance(result, CashFlowReport)]

    def ledger_label(self, ledger_id: str) -> str:
        """Name and id of a ledger, for messages."""
        name = self._names.get(ledger_id, "")
        return f"{name} (ledger {ledger_id})" if name else f"ledger {ledger_id}"

    def _request_once(self, key: Hashable, request: Callable[[], Response]) -> Response:
        if key not in self._results:
            try:
                self._results[key] = request()
            except AccountingAnalyticsError as error:
                self._results[key] = error
        result = self._results[key]
        if isinstance(result, AccountingAnalyticsError):
            raise result.with_traceback(None)
        return result  # type: ignore[return-value]  # the result of the request with this key
