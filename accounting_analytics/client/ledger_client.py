"""LedgerClient: the four operations of the Ledger Accounting Service, as wire records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar

from accounting_analytics.client.auth import FixedToken
from accounting_analytics.client.paging import follow_pages
from accounting_analytics.client.records import (
    CashFlowReport,
    Ledger,
    LineEntry,
    LineEntryPage,
    RecategorizedTransaction,
)
from accounting_analytics.client.retries import OperationRequest, RetryingClient, RetryPolicy
from accounting_analytics.client.url_and_header_text import path_segment, plain, query_text, user_name
from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.errors import ConfigurationError, InputError, ProtocolError
from accounting_analytics.core.messages import fit_terminal, quote
from accounting_analytics.core.money import AMOUNT_FORMS, DEFAULT_SCALE, check_scale
from accounting_analytics.core.periods import Period, choose_zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    import httpx

    from accounting_analytics.client.auth import Credentials
    from accounting_analytics.client.http import Deadline
    from accounting_analytics.client.retries import Quota
    from accounting_analytics.core.periods import DateLike, ZoneLike

Decoded = TypeVar("Decoded")

MAX_LIMIT = 1000
DEFAULT_LIMIT = 50
_MAX_PAGE_TOKEN_LENGTH = 32_768


class LedgerClient:
    """Client of one instance of a Ledger Accounting Service.

    Several threads may share one client. As a context manager it closes its connections at the end. A forked process
    may use the client of its parent: it gets its own connections and its own rate limit.

    Parameters
    ----------
    base_url : str
        Address of the service, without ``/v0``.
    token : str or Credentials
        Access token, or its source: a :class:`~accounting_analytics.client.TokenFile` or
        :class:`~accounting_analytics.client.ClientCredentials`. It is sent in the Authorization header only, and never
        printed or logged.
    instance_id : str
        Identifier of the service instance.
    instance_header : str
        Name of the header that the instance id is sent in.
    transport : httpx.BaseTransport, optional
        Replaces the network connection, for tests; a forked process must then make its own client.
    requests_per_minute : float, optional
        Maximum for all threads together; None sets none. The limit that the service reports is respected anyway.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in wherever a call names none; without it UTC is assumed, and results say so.
    scale : int
        Fraction digits of the instance's currency, 0 to 10.
    amounts : {"float64", "decimal"}
        How frames loaded through this client hold amounts: as float64 of whole minor units, which pandas calculates
        with, or as Arrow decimals, for amounts of 10**15 minor units and more.
    timeout : float
        Seconds for one attempt, from connecting to the last byte of the response.
    deadline : float or Deadline
        Seconds for one call with all its attempts and waits; a :class:`~accounting_analytics.client.Deadline` limits
        all calls together. A service that sends the headers of a response slowly may take longer: until them, each
        read is limited alone.
    max_attempts : int
        Largest number of attempts of a read; changes are sent once.
    most_bytes : int, optional
        Largest response, decompressed; None is 64 MiB, and 1 GiB for a report.

    Raises
    ------
    ConfigurationError
        The address, token, instance or a number is not valid.
    PeriodError
        The time zone is unknown.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | Credentials,
        instance_id: str,
        instance_header: str = "service-instance-id",
        transport: httpx.BaseTransport | None = None,
        requests_per_minute: float | None = None,
        time_zone: ZoneLike | None = None,
        scale: int = DEFAULT_SCALE,
        amounts: Literal["float64", "decimal"] = "float64",
        timeout: float = 60.0,
        deadline: float | Deadline = 300.0,
        max_attempts: int = 10,
        most_bytes: int | None = None,
    ) -> None:
        if requests_per_minute is not None and not requests_per_minute > 0:
            raise ConfigurationError("requests_per_minute must be positive")
        if token is None:  # as from an environment variable that is not set
            raise ConfigurationError("no token given: pass token=..., a TokenFile or ClientCredentials")
        if amounts not in AMOUNT_FORMS:
            raise ConfigurationError(f"amounts must be one of {', '.join(AMOUNT_FORMS)}, not {quote(amounts)}")
        self.scale = check_scale(scale)
        self.time_zone = None if time_zone is None else choose_zone(time_zone).name
        self.amounts = amounts
        self.instance_id = instance_id
        self._client = RetryingClient(
            base_url,
            credentials=FixedToken(token) if isinstance(token, str) else token,
            instance_id=instance_id,
            instance_header=instance_header,
            transport=transport,
            requests_per_minute=requests_per_minute,
            retry_policy=RetryPolicy(timeout, deadline, max_attempts, most_bytes),
        )

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._client.base_url

    @property
    def quota(self) -> Quota:
        """What is left of the rate limit, as far as the service reports it; for all threads together."""
        return self._client.rate_limiter.quota

    def with_options(
        self,
        *,
        timeout: float | None = None,
        deadline: float | Deadline | None = None,
        max_attempts: int | None = None,
        most_bytes: int | None = None,
    ) -> LedgerClient:
        """Return a client with other limits over the same connections, credentials and rate limit.

        ``client.with_options(deadline=Deadline(600))`` limits all its calls to ten minutes from now.
        Closing either client closes both.
        """
        options = {"timeout": timeout, "deadline": deadline, "max_attempts": max_attempts, "most_bytes": most_bytes}
        changes = {name: value for name, value in options.items() if value is not None}
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"_client": self._client.with_retry_policy(**changes)}
        return other

    def _send(self, request: OperationRequest, kind: type[Decoded]) -> Decoded:
        """Send a request and decode its response."""
        return self._client.request(request, kind)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client cannot be pickled or copied, because it holds a token; connect again where it is needed"
        )

    def __repr__(self) -> str:
        zone = f"time_zone={self.time_zone!r}"
        return fit_terminal(f"LedgerClient({self.base_url!r}, token='***', instance_id={self.instance_id!r}, {zone})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._client.close()

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
        """Create a ledger, once.

        If its response is lost, the request is not sent again: the error says that the ledger may exist.

        With a `financial_account_type` the service supplies defaults; without it `debit_credit`,
        `report_cash_flow`, `sort_code`, `sub_type` and `type` are required.
        """
        fields = _without_none(
            name=query_text(name, "name"),
            editable=editable,
            debit_credit=debit_credit,
            financial_account_type=financial_account_type,
            parent_id=parent_id,
            report_cash_flow=report_cash_flow,
            sort_code=sort_code,
            sub_type=sub_type,
            type=type,
        )
        for field, value in fields.items():
            if isinstance(value, str):
                query_text(value, field)
        request = OperationRequest(
            "create ledger",
            "POST",
            "/v0/ledgers",
            _without_none(expand=_join_list(expand, "expand")),
            subject=quote(name),
            body=fields,
            if_lost=f"a ledger {quote(name)} may have been created: look for it by this name before creating it again",
        )
        return self._send(request, Ledger)

    def recategorize_transaction(
        self,
        ledger_id: str,
        transaction_id: str,
        *,
        updated_category_ledger_id: str,
        category_ledger_id: str | None = None,
        modified_by: str | None = None,
    ) -> RecategorizedTransaction:
        """Change the category of a transaction; sent once: if the response is lost, check before trying again.

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
            Name of the user, for the service's audit log; sent as UTF-8.
        """
        path = (
            f"/v0/ledgers/{path_segment(ledger_id, 'ledger_id')}"
            f"/transactions/{path_segment(transaction_id, 'transaction_id')}/categories"
        )
        body = {"updated_category_ledger_id": query_text(updated_category_ledger_id, "updated_category_ledger_id")}
        if category_ledger_id is not None:
            body["category_ledger_id"] = query_text(category_ledger_id, "category_ledger_id")
        request = OperationRequest(
            "recategorize transaction",
            "PUT",
            path,
            {},
            subject=f"transaction {plain(transaction_id)} of ledger {plain(ledger_id)}",
            body=body,
            headers={} if modified_by is None else {"modified-by": user_name(modified_by, "modified_by")},
        )
        return self._send(request, RecategorizedTransaction)

    def list_line_entries(
        self,
        ledger_id: str,
        start_date: DateLike,
        end_date: DateLike,
        *,
        is_cashflow: bool | None = None,
        time_zone: ZoneLike | None = None,
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = DEFAULT_LIMIT,
        page_token: str | None = None,
    ) -> LineEntryPage:
        """Retrieve one page of a ledger's line entries; days are local to `time_zone`, by default the client's."""
        return self._page(
            ledger_id,
            self._period(start_date, end_date, time_zone),
            is_cashflow=is_cashflow,
            expand=expand,
            tag_ids=tag_ids,
            limit=limit,
            page_token=page_token,
        )

    def list_line_entries_json(
        self,
        ledger_id: str,
        start_date: DateLike,
        end_date: DateLike,
        *,
        time_zone: ZoneLike | None = None,
        **options: Any,  # noqa: ANN401 (those of list_line_entries)
    ) -> bytes:
        """Retrieve one page as the JSON that the service sent, for a reader that decodes and checks it itself."""
        period = self._period(start_date, end_date, time_zone)
        return self._client.request_json(_page_request(ledger_id, period, **options))

    def _period(self, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike | None) -> Period:
        return Period(start_date, end_date, choose_zone(time_zone, self.time_zone).name)

    def _page(
        self,
        ledger_id: str,
        period: Period,
        **options: Any,  # noqa: ANN401 (those of list_line_entries)
    ) -> LineEntryPage:
        return self._send(_page_request(ledger_id, period, **options), LineEntryPage)

    def iter_line_entries(
        self,
        ledger_id: str,
        start_date: DateLike,
        end_date: DateLike,
        *,
        is_cashflow: bool | None = None,
        time_zone: ZoneLike | None = None,
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = MAX_LIMIT,
    ) -> Iterator[LineEntry]:
        """Iterate over all line entries of a ledger in a period, page after page.

        Raises
        ------
        ProtocolError
            A page token or a page repeats: the list would never end.
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
        start_date: DateLike,
        end_date: DateLike,
        **options: Any,  # noqa: ANN401 (those of iter_line_entries)
    ) -> Iterator[LineEntryPage]:
        """Iterate over all pages of a ledger's line entries; the options are those of :meth:`iter_line_entries`."""
        period = self._period(start_date, end_date, options.pop("time_zone", None))

        def request_page(page_token: str | None, number: int) -> LineEntryPage:
            return self._page(ledger_id, period, page_token=page_token, number=number, **options)

        yield from follow_pages(request_page, subject=f"list line entries (ledger {ledger_id}, {period})")

    def retrieve_cash_flow_report(
        self,
        start_date: DateLike,
        end_date: DateLike,
        *,
        time_zone: ZoneLike | None = None,
        tag_ids: Iterable[str] = (),
    ) -> CashFlowReport:
        """Retrieve the cash flow report of a period; days are local to `time_zone`, by default the client's."""
        period = self._period(start_date, end_date, time_zone)
        parameters = _dates(period) | _without_none(tag_ids=_join_list(tag_ids, "tag_ids"))
        request = OperationRequest(
            "retrieve cash flow report", "GET", "/v0/reports/cash-flow", parameters, subject=str(period), is_report=True
        )
        return self._send(request, CashFlowReport)


def _page_request(
    ledger_id: str,
    period: Period,
    *,
    is_cashflow: bool | None = None,
    expand: Iterable[str] = (),
    tag_ids: Iterable[str] = (),
    limit: int = MAX_LIMIT,
    page_token: str | None = None,
    number: int | None = None,
) -> OperationRequest:
    """Request for one page of line entries; `number` is the page number, for messages."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit!r}")
    path = f"/v0/ledgers/{path_segment(ledger_id, 'ledger_id')}/line-entries"
    subject = f"ledger {plain(ledger_id)}, {period}{'' if number is None else f', page {number}'}"
    if page_token is not None and len(query_text(page_token, "page_token")) > _MAX_PAGE_TOKEN_LENGTH:
        problem = f"list line entries ({subject}): a page token of {len(page_token)} characters is too long to send"
        raise InputError(problem) if number is None else ProtocolError(problem)
    parameters = _dates(period) | _without_none(
        is_cashflow=None if is_cashflow is None else str(is_cashflow).lower(),
        expand=_join_list(expand, "expand"),
        tag_ids=_join_list(tag_ids, "tag_ids"),
        limit=str(limit),
        page_token=page_token,
    )
    return OperationRequest("list line entries", "GET", path, parameters, subject=subject)


def _dates(period: Period) -> dict[str, str]:
    return {
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
        "time_zone": period.time_zone,
    }


def _join_list(texts: Iterable[str], name: str) -> str | None:
    """Comma-separated list, None for an empty one; a comma inside an element would split it."""
    elements = to_texts(texts)
    for text in elements:
        if "," in query_text(text, f"an element of {name}"):
            raise InputError(f"an element with a comma cannot be sent in a list: {plain(text)}")
    return ",".join(elements) or None


def _without_none(**values: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON and query values)
    return {name: value for name, value in values.items() if value is not None}
