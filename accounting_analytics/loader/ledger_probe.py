"""What a few of a ledger's lines tell: its own fields, and the ledgers that stand opposite them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InvalidRequestError, ProtocolError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire
    from accounting_analytics.periods import Period

_WITH_PARENTS = ("ledger", "ledger.parent", "ledger.parent.parent", "opposing_ledger_ids")
_WITHOUT_PARENTS = ("ledger", "opposing_ledger_ids")
_EVER = ("0001-01-01", "9999-12-31")
_MOST_RESTARTS = 5
_FIRST_LINES = 200
"""Few enough for a small answer with nested ledgers, enough for all lines of most categories."""


class Seen(NamedTuple):
    """What was seen of a ledger.

    Attributes
    ----------
    fields : wire.Ledger or None
        Its own fields; None where the service never shows a line of it.
    opposing : frozenset of str
        Ledgers opposite the lines looked at.
    whole : bool
        Whether these were all of its lines in the period.
    """

    fields: wire.Ledger | None
    opposing: frozenset[str]
    whole: bool


class LedgerLook:
    """Looks at ledgers; several threads may use it at once.

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

    def at(self, ledger_id: str, *, is_cash: bool) -> Seen:
        """Look at a ledger: one request where its lines are few.

        What stands opposite cash is named by the report, so of a dense ledger only lines away from cash are read on.
        """
        page = self._first_page(ledger_id, self._period.start_date, self._period.end_date, _FIRST_LINES)
        fields = page.records[0].ledger if page.records else self._fields_of_another_time(ledger_id)
        opposing = _opposing(page.records)
        if page.next_page_token is None:
            return Seen(fields, opposing, whole=True)
        if is_cash:
            return Seen(fields, opposing, whole=False)
        away_from_cash = None if fields is None or fields.report_cash_flow else False
        return Seen(fields, opposing | self._read_on(ledger_id, is_cashflow=away_from_cash), whole=True)

    def at_every_line(self, ledger_id: str, seen: Seen) -> Seen:
        """Look at all lines of the period."""
        return Seen(seen.fields, seen.opposing | self._read_on(ledger_id, is_cashflow=None), whole=True)

    def _fields_of_another_time(self, ledger_id: str) -> wire.Ledger | None:
        try:
            page = self._first_page(ledger_id, *_EVER, 1)
        except InvalidRequestError:
            return None  # some deployments refuse to look before the start of the books
        return page.records[0].ledger if page.records else None

    def _first_page(
        self, ledger_id: str, start_date: dt.date | str, end_date: dt.date | str, limit: int
    ) -> wire.LineEntryPage:
        def listed(expand: tuple[str, ...]) -> wire.LineEntryPage:
            tokens: list[str | None] = [None]
            restarts = 0
            while True:
                try:
                    page = self._client.list_line_entries(
                        ledger_id,
                        start_date,
                        end_date,
                        time_zone=self._period.time_zone,
                        expand=expand,
                        limit=limit,
                        page_token=tokens[-1],
                    )
                except InvalidRequestError as error:
                    if tokens[-1] is None or "token" not in (error.error_code or "") or restarts == _MOST_RESTARTS:
                        raise
                    tokens, restarts = [None], restarts + 1  # the page token died on the way
                    continue
                if page.records or page.next_page_token is None:
                    return page
                if page.next_page_token in tokens:
                    msg = f"list line entries (ledger {ledger_id}): empty pages that lead back to each other, no end"
                    raise ProtocolError(msg)
                tokens.append(page.next_page_token)  # an empty page is not the end where another follows

        expand = self._expand
        try:
            return listed(expand)
        except InvalidRequestError as error:
            if expand == _WITHOUT_PARENTS or "token" in (error.error_code or ""):
                raise
        page = listed(_WITHOUT_PARENTS)
        self._expand = _WITHOUT_PARENTS  # this service does not show parents
        return page

    def _read_on(self, ledger_id: str, *, is_cashflow: bool | None) -> frozenset[str]:
        lines = self._client.iter_line_entries(
            ledger_id,
            self._period.start_date,
            self._period.end_date,
            time_zone=self._period.time_zone,
            is_cashflow=is_cashflow,
            expand=("opposing_ledger_ids",),
        )
        return _opposing(lines)


def _opposing(lines: Iterable[wire.LineEntry]) -> frozenset[str]:
    return frozenset(ledger_id for line in lines for ledger_id in line.opposing_ledger_ids or ())
