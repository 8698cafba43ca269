"""LedgerClient: the four operations of the Ledger Accounting Service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from accounting_analytics.client.exchange import Exchange, Request, header_value, path_segment
from accounting_analytics.client.records import (
    CashFlowReport,
    Ledger,
    LineEntry,
    LineEntryPage,
    RecategorizedTransaction,
)
from accounting_analytics.client.secret import Secret
from accounting_analytics.errors import ConfigurationError, InputError, ProtocolError
from accounting_analytics.money import DEFAULT_SCALE, check_scale
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    import httpx

MAX_LIMIT = 1000
DEFAULT_LIMIT = 50


class LedgerClient:
    """Client of one instance of a Ledger Accounting Service.

    It may be used by several threads at once, and as a context manager that closes its connections.

    Parameters
    ----------
    base_url : str
        Address of the service, without ``/v0``.
    token : str
        Access token. It is sent in the Authorization header, and shown nowhere.
    instance_id : str
        Identifier of the service instance.
    instance_header : str
        Name of the header that carries it.
    transport : httpx.BaseTransport, optional
        The one seam to the network; for tests and proxies.
    requests_per_minute : float, optional
        Ceiling for all threads together; None sets none.
    scale : int
        Fraction digits of the instance's currency, 0 to 10.
    timeout : float
        Seconds to wait for the network at any one point of a request.
    max_attempts : int
        How often a read is tried in all; writes are sent once.

    Raises
    ------
    ConfigurationError
        The address, token, instance or a number cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str,
        instance_id: str,
        instance_header: str = "service-instance-id",
        transport: httpx.BaseTransport | None = None,
        requests_per_minute: float | None = None,
        scale: int = DEFAULT_SCALE,
        timeout: float = 30.0,
        max_attempts: int = 5,
    ) -> None:
        if timeout <= 0 or max_attempts < 1 or (requests_per_minute is not None and requests_per_minute <= 0):
            msg = "timeout, max_attempts and requests_per_minute must be positive"
            raise ConfigurationError(msg)
        self.scale = check_scale(scale)
        self.instance_id = instance_id
        self._exchange = Exchange(
            base_url,
            token=Secret(token),
            instance_id=instance_id,
            instance_header=instance_header,
            transport=transport,
            requests_per_minute=requests_per_minute,
            timeout=timeout,
            max_attempts=max_attempts,
        )

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._exchange.base_url

    def __repr__(self) -> str:
        return f"LedgerClient({self.base_url!r}, token='***', instance_id={self.instance_id!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._exchange.close()

    def create_ledger(
        self,
        *,
        name: str,
        editable: bool,
        debit_credit: str | None = None,
        financial_account_type: str | None = None,
        parent_id: str | None = None,
        report_cash_flow: bool | None = None,
        sort_code: str | None = None,
        sub_type: str | None = None,
        type: str | None = None,  # noqa: A002 (the interface's name)
        expand: Iterable[str] = (),
    ) -> Ledger:
        """Create a ledger; sent once, because nothing tells a repeated creation from a second ledger.

        With a `financial_account_type` the service supplies what is left out; without it `debit_credit`,
        `report_cash_flow`, `sort_code`, `sub_type` and `type` are required.
        """
        fields = {
            "name": name,
            "editable": editable,
            "debit_credit": debit_credit,
            "financial_account_type": financial_account_type,
            "parent_id": parent_id,
            "report_cash_flow": report_cash_flow,
            "sort_code": sort_code,
            "sub_type": sub_type,
            "type": type,
        }
        return self._exchange.write(
            Request(
                "create ledger",
                "POST",
                "/v0/ledgers",
                _given(expand=_listed(expand)),
                subject=repr(name),
                body=_given(**fields),
            ),
            Ledger,
        )

    def recategorize_transaction(
        self,
        ledger_id: str,
        transaction_id: str,
        *,
        updated_category_ledger_id: str,
        category_ledger_id: str | None = None,
        modified_by: str | None = None,
    ) -> RecategorizedTransaction:
        """Change the category of a transaction; sent once: after a lost answer, look before trying again.

        Parameters
        ----------
        ledger_id : str
            The financial account's ledger.
        transaction_id : str
            The transaction on it.
        updated_category_ledger_id : str
            The new category.
        category_ledger_id : str, optional
            The category to replace. Without it **all** categories of the transaction are moved.
        modified_by : str, optional
            Who, for the service's audit log.
        """
        path = (
            f"/v0/ledgers/{path_segment(ledger_id, 'ledger_id')}"
            f"/transactions/{path_segment(transaction_id, 'transaction_id')}/categories"
        )
        headers = {} if modified_by is None else {"modified-by": header_value(modified_by, "modified_by")}
        body = _given(updated_category_ledger_id=updated_category_ledger_id, category_ledger_id=category_ledger_id)
        request = Request(
            "recategorize transaction",
            "PUT",
            path,
            {},
            subject=f"transaction {transaction_id} of ledger {ledger_id}",
            body=body,
            headers=headers,
        )
        return self._exchange.write(request, RecategorizedTransaction)

    def list_line_entries(
        self,
        ledger_id: str,
        start_date: dt.date | str,
        end_date: dt.date | str,
        *,
        is_cashflow: bool | None = None,
        time_zone: str = "UTC",
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = DEFAULT_LIMIT,
        page_token: str | None = None,
    ) -> LineEntryPage:
        """Retrieve one page of a ledger's line entries; days are local to `time_zone`, both dates inclusive."""
        return self._page(
            ledger_id,
            Period.of(start_date, end_date, time_zone),
            is_cashflow=is_cashflow,
            expand=expand,
            tag_ids=tag_ids,
            limit=limit,
            page_token=page_token,
        )

    def _page(
        self,
        ledger_id: str,
        period: Period,
        *,
        is_cashflow: bool | None = None,
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = MAX_LIMIT,
        page_token: str | None = None,
        number: int | None = None,
    ) -> LineEntryPage:
        """Retrieve one page; messages name its number where it is known."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            msg = f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit!r}"
            raise InputError(msg)
        request = Request(
            "list line entries",
            "GET",
            f"/v0/ledgers/{path_segment(ledger_id, 'ledger_id')}/line-entries",
            _days(period)
            | _given(
                is_cashflow=None if is_cashflow is None else str(is_cashflow).lower(),
                expand=_listed(expand),
                tag_ids=_listed(tag_ids),
                limit=str(limit),
                page_token=page_token,
            ),
            subject=f"ledger {ledger_id}, {period}{'' if number is None else f', page {number}'}",
        )
        return self._exchange.read(request, LineEntryPage)

    def iter_line_entries(
        self,
        ledger_id: str,
        start_date: dt.date | str,
        end_date: dt.date | str,
        *,
        is_cashflow: bool | None = None,
        time_zone: str = "UTC",
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = MAX_LIMIT,
    ) -> Iterator[LineEntry]:
        """Iterate over all line entries of a ledger in a period, page after page.

        Raises
        ------
        ProtocolError
            A page token came twice: the pages would never end.
        """
        for page in self.iter_line_entry_pages(
            ledger_id,
            start_date,
            end_date,
            is_cashflow=is_cashflow,
            time_zone=time_zone,
            expand=expand,
            tag_ids=tag_ids,
            limit=limit,
        ):
            yield from page.records

    def iter_line_entry_pages(
        self,
        ledger_id: str,
        start_date: dt.date | str,
        end_date: dt.date | str,
        **options: Any,  # noqa: ANN401 (those of iter_line_entries)
    ) -> Iterator[LineEntryPage]:
        """Iterate over all pages of a ledger's line entries; the options are those of :meth:`iter_line_entries`."""
        period = Period.of(start_date, end_date, options.pop("time_zone", "UTC"))
        seen: set[str] = set()
        token: str | None = None
        while True:
            page = self._page(ledger_id, period, page_token=token, number=len(seen) + 1, **options)
            yield page
            token = page.next_page_token
            if token is None:
                return
            if token in seen:
                msg = (
                    f"list line entries (ledger {ledger_id}, {period}): page {len(seen) + 1} leads "
                    "back to a page already read, so the pages never end"
                )
                raise ProtocolError(msg)
            seen.add(token)

    def retrieve_cash_flow_report(
        self,
        start_date: dt.date | str,
        end_date: dt.date | str,
        *,
        time_zone: str = "UTC",
        tag_ids: Iterable[str] = (),
    ) -> CashFlowReport:
        """Retrieve the cash flow report of a period; days are local to `time_zone`, both dates inclusive."""
        period = Period.of(start_date, end_date, time_zone)
        parameters = _days(period) | _given(tag_ids=_listed(tag_ids))
        request = Request("retrieve cash flow report", "GET", "/v0/reports/cash-flow", parameters, subject=str(period))
        return self._exchange.read(request, CashFlowReport)


def _days(period: Period) -> dict[str, str]:
    return {
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
        "time_zone": period.time_zone,
    }


def _listed(texts: Iterable[str]) -> str | None:
    """Comma-separated list, None for an empty one; a comma inside an element would split it."""
    listed = [texts] if isinstance(texts, str) else list(texts)
    if any("," in text for text in listed):
        msg = f"an element with a comma cannot be sent in a list: {next(text for text in listed if ',' in text)!r}"
        raise InputError(msg)
    return ",".join(listed) or None


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON and query values)
    return {name: value for name, value in values.items() if value is not None}
