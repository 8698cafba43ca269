"""What a few lines of a ledger show: the fields of the ledger itself, and its opposing ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.client.pagination import restart_on_expired_token
from accounting_analytics.errors import ExpiredPageTokenError, InvalidRequestError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire
    from accounting_analytics.periods import Period

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent", "opposing_ledger_ids")
_WITHOUT_PARENTS = ("ledger", "opposing_ledger_ids")
_ALL_DAYS = ("0001-01-01", "9999-12-31")
_ATTEMPTS = 6
_LIMIT = 200
"""Few enough for a small response with nested ledgers, enough for all lines of most categories."""


class ProbedLedger(NamedTuple):
    """What the lines of a ledger show.

    Attributes
    ----------
    fields : wire.Ledger or None
        The fields of the ledger; None where the service shows no line of it.
    opposing : frozenset of str
        Ids of the opposing ledgers.
    has_all_lines : bool
        Whether these are the opposing ledgers of all lines of the period.
    """

    fields: wire.Ledger | None
    opposing: frozenset[str]
    has_all_lines: bool


class LedgerProbe:
    """Probes ledgers; several threads may use it in parallel.

    Parameters
    ----------
    client : LedgerClient
        The service.
    period : Period
        The days.
    """

    def __init__(self, client: LedgerClient, period: Period) -> None:
        self._client = client
        self._period = period
        self._expand: tuple[str, ...] = _WITH_PARENTS

    def probe(self, ledger_id: str, *, is_cash: bool) -> ProbedLedger:
        """Probe a ledger, with one request where it has few lines.

        The report names what is opposite cash. So of a cash ledger with many lines one page is enough, and of any other
        ledger with many lines only those of entries that do not touch cash are read.
        """
        page = self._first_page(ledger_id, self._period.start_date, self._period.end_date, _LIMIT)
        fields = page.records[0].ledger if page.records else self._fields_at_any_time(ledger_id)
        opposing = _opposing_ids(page.records)
        if page.next_page_token is None:
            return ProbedLedger(fields, opposing, has_all_lines=True)
        if is_cash:
            return ProbedLedger(fields, opposing, has_all_lines=False)
        is_cashflow = None if fields is None or fields.report_cash_flow else False
        return ProbedLedger(fields, opposing | self._read_opposing(ledger_id, is_cashflow), has_all_lines=True)

    def probe_all_lines(self, ledger_id: str, probed: ProbedLedger) -> ProbedLedger:
        """Complete a probe with all lines of the period."""
        opposing = probed.opposing | self._read_opposing(ledger_id, is_cashflow=None)
        return ProbedLedger(probed.fields, opposing, has_all_lines=True)

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


def _opposing_ids(lines: Iterable[wire.LineEntry]) -> frozenset[str]:
    return frozenset(ledger_id for line in lines for ledger_id in line.opposing_ledger_ids or ())
