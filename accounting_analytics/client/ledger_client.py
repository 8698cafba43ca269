"""LedgerClient: the four operations of the service as wire records, and paging."""

from __future__ import annotations

import contextlib
import itertools
import urllib.parse
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, Self, TypeVar

import msgspec

from accounting_analytics.client.auth import Credentials
from accounting_analytics.client.http import MIB, HttpSender, Request, check_url, header_text
from accounting_analytics.client.rate_and_time_limits import CallLimits
from accounting_analytics.client.records import (
    CashFlowReport,
    Ledger,
    LineEntry,
    LineEntryPage,
    RecategorizedTransaction,
)
from accounting_analytics.client.secret import Secret
from accounting_analytics.client.strict_json import Decoded, decode
from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.errors import (
    ConfigurationError,
    ExpiredPageTokenError,
    InputError,
    ProtocolError,
    StatusError,
)
from accounting_analytics.core.fiscal_years import require_month
from accounting_analytics.core.messages import fit_terminal, quote
from accounting_analytics.core.money import DEFAULT_SCALE, check_scale
from accounting_analytics.core.periods import LOCALTIME, Period, choose_zone, zone_name

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    import httpx

    from accounting_analytics.client.rate_and_time_limits import Deadline, Quota
    from accounting_analytics.core.periods import DateLike, ZoneLike

MAX_LIMIT = 1000
DEFAULT_LIMIT = 50
MAX_PAGES_WITHOUT_NEW_IDS = 100
_MAX_BYTES = 64 * MIB
_MAX_REPORT_BYTES = 1024 * MIB
_MAX_PAGE_TOKEN_LENGTH = 32_768
_MAX_TEXT_LENGTH = 100
_STATUSES_OF_EXPIRED_TOKENS = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.UNPROCESSABLE_ENTITY}
)


class ListPage(Protocol):
    """One page of a list."""

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the records on the page."""

    @property
    def next_page_token(self) -> str | None:
        """Token of the next page, or None on the last page."""


Page = TypeVar("Page", bound=ListPage)


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
        Zone that days are counted in wherever a call names none, with a name: only methods of the client take
        ``localtime``, the service's own; without it UTC is assumed, and results say so.
    scale : int
        Fraction digits of the instance's currency, 0 to 10.
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
    company, currency : str, optional
        Headings of the books of this client; the service states neither.
    fiscal_year_start_month : int
        Month that years and quarters of the books are counted from.

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
        timeout: float = 60.0,
        deadline: float | Deadline = 300.0,
        max_attempts: int = 10,
        most_bytes: int | None = None,
        company: str | None = None,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> None:
        if requests_per_minute is not None and not requests_per_minute > 0:
            raise ConfigurationError("requests_per_minute must be positive")
        if token is None:  # such as the value of an environment variable that is not set
            raise ConfigurationError("no token given: pass token=..., a TokenFile or ClientCredentials")
        require_month(fiscal_year_start_month)
        self.company, self.currency, self.fiscal_year_start_month = company, currency, fiscal_year_start_month
        self.scale = check_scale(scale)
        self.time_zone = None if time_zone is None else choose_zone(time_zone).name
        self.instance_id = instance_id
        self.base_url = check_url(base_url, "base_url")
        if not instance_header.replace("-", "").replace("_", "").isalnum() or not instance_header.isascii():
            raise ConfigurationError(f"instance_header {instance_header!r} is not a header name")
        self._headers = {instance_header: header_text(instance_id, "the instance id")}
        self._limits = CallLimits(timeout, deadline, max_attempts, most_bytes)
        self._credentials = Credentials(Secret(header_text(token, "the token"))) if isinstance(token, str) else token
        self._http = HttpSender(self.base_url, transport=transport, requests_per_minute=requests_per_minute)

    @property
    def quota(self) -> Quota:
        """Rest of the rate limit for all threads, as the service reports it."""
        return self._http.rate_limiter.quota

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
        changes = _without_none(timeout=timeout, deadline=deadline, max_attempts=max_attempts, most_bytes=most_bytes)
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"_limits": replace(self._limits, **changes)}
        return other

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client cannot be pickled or copied, because it holds a token; connect again where it is needed"
        )

    def __repr__(self) -> str:
        zone = f"time_zone={self.time_zone!r}"
        return fit_terminal(f"LedgerClient({self.base_url!r}, token='***', instance_id={self.instance_id!r}, {zone})")

    @property
    def source(self) -> str:
        """Service and instance, as books and frames state them."""
        return f"{self.base_url} {self.instance_id}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        self._http.close()
        self._credentials.close()

    def _call(
        self,
        description: str,
        path: str,
        decode: Callable[[bytes], Decoded],
        *,
        method: str = "GET",
        parameters: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        most_bytes: int = _MAX_BYTES,
        if_lost: str = "",
    ) -> Decoded:
        """Send the request of an operation and decode its response."""
        content_type = {} if body is None else {"content-type": "application/json"}
        request = Request(
            description,
            method,
            f"{self.base_url}{path}",
            parameters or {},
            self._headers | (headers or {}) | content_type,
            None if body is None else msgspec.json.encode(body),
            self._limits.most_bytes or most_bytes,
            if_lost,
        )
        return self._http.call(request, decode, self._credentials.token, self._limits)

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
            name=name,
            editable=editable,
            debit_credit=debit_credit,
            financial_account_type=financial_account_type,
            parent_id=parent_id,
            report_cash_flow=report_cash_flow,
            sort_code=sort_code,
            sub_type=sub_type,
            type=type,
        )
        return self._call(
            f"create ledger ({quote(name)})",
            "/v0/ledgers",
            partial(decode, kind=Ledger),
            method="POST",
            parameters=_without_none(expand=_join_list(expand)),
            body=fields,
            if_lost=f"a ledger {quote(name)} may have been created: look for it by this name before creating it again",
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
        path = f"{_path(ledger_id)}/transactions/{_segment(transaction_id, 'transaction_id')}/categories"
        return self._call(
            f"recategorize transaction (transaction {_plain(transaction_id)} of ledger {_plain(ledger_id)})",
            path,
            partial(decode, kind=RecategorizedTransaction),
            method="PUT",
            body=_without_none(
                updated_category_ledger_id=updated_category_ledger_id, category_ledger_id=category_ledger_id
            ),
            headers=_without_none(**{"modified-by": modified_by and user_name(modified_by)}),
        )

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
            self._days(start_date, end_date, time_zone),
            partial(decode, kind=LineEntryPage),
            is_cashflow=is_cashflow,
            expand=expand,
            tag_ids=tag_ids,
            limit=limit,
            page_token=page_token,
        )

    def _days(self, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike | None) -> Period | _LocaltimeDays:
        if time_zone is not None and zone_name(time_zone) == LOCALTIME:
            days = Period(start_date, end_date)
            return _LocaltimeDays(days.start_date, days.end_date)
        return Period(start_date, end_date, choose_zone(time_zone, self.time_zone).name)

    def _page(
        self,
        ledger_id: str,
        period: Period | _LocaltimeDays,
        decode: Callable[[bytes], Decoded],
        *,
        is_cashflow: bool | None = None,
        expand: Iterable[str] = (),
        tag_ids: Iterable[str] = (),
        limit: int = MAX_LIMIT,
        page_token: str | None = None,
        number: int | None = None,
    ) -> Decoded:
        """Request one page of line entries. Messages name the page by `number`."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise InputError(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit!r}")
        subject = f"ledger {_plain(ledger_id)}, {period}{'' if number is None else f', page {number}'}"
        if page_token is not None and len(page_token) > _MAX_PAGE_TOKEN_LENGTH:
            problem = f"list line entries ({subject}): a page token of {len(page_token)} characters is too long to send"
            raise InputError(problem) if number is None else ProtocolError(problem)
        parameters = _dates(period) | _without_none(
            is_cashflow=None if is_cashflow is None else str(is_cashflow).lower(),
            expand=_join_list(expand),
            tag_ids=_join_list(tag_ids),
            limit=str(limit),
            page_token=page_token,
        )
        path = f"{_path(ledger_id)}/line-entries"
        return self._call(f"list line entries ({subject})", path, decode, parameters=parameters)

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
        *,
        time_zone: ZoneLike | None = None,
        **options: Any,  # noqa: ANN401 (those of iter_line_entries)
    ) -> Iterator[LineEntryPage]:
        """Iterate over all pages of a ledger's line entries; the options are those of :meth:`iter_line_entries`."""
        period = self._days(start_date, end_date, time_zone)
        return self.iter_decoded_pages(ledger_id, period, lambda _: partial(decode, kind=LineEntryPage), **options)

    def iter_decoded_pages(
        self,
        ledger_id: str,
        period: Period | _LocaltimeDays,
        decoder_of_page: Callable[[int], Callable[[bytes], Page]],
        **options: Any,  # noqa: ANN401 (those of iter_line_entries)
    ) -> Iterator[Page]:
        """Iterate over the pages of a period, decoded by page number."""

        def request_page(page_token: str | None, number: int) -> Page:
            decode_page = decoder_of_page(number)
            return self._page(ledger_id, period, decode_page, page_token=page_token, number=number, **options)

        return follow_pages(request_page, subject=f"list line entries (ledger {_plain(ledger_id)}, {period})")

    def retrieve_cash_flow_report(
        self,
        start_date: DateLike,
        end_date: DateLike,
        *,
        time_zone: ZoneLike | None = None,
        tag_ids: Iterable[str] = (),
    ) -> CashFlowReport:
        """Retrieve the cash flow report of a period; days are local to `time_zone`, by default the client's."""
        period = self._days(start_date, end_date, time_zone)
        return self.retrieve_decoded_report(period, partial(decode, kind=CashFlowReport), tag_ids=tag_ids)

    def retrieve_decoded_report(
        self, period: Period | _LocaltimeDays, decode_report: Callable[[bytes], Decoded], *, tag_ids: Iterable[str] = ()
    ) -> Decoded:
        """Retrieve the cash flow report of a period with another decoder."""
        return self._call(
            f"retrieve cash flow report ({period})",
            "/v0/reports/cash-flow",
            decode_report,
            parameters=_dates(period) | _without_none(tag_ids=_join_list(tag_ids)),
            most_bytes=_MAX_REPORT_BYTES,
        )


class _LocaltimeDays(NamedTuple):
    """Days in the service's own zone.

    Only the service can convert the days to instants.
    """

    start_date: dt.date
    end_date: dt.date
    time_zone: str = LOCALTIME

    def __str__(self) -> str:
        return f"{self.start_date} to {self.end_date} ({self.time_zone})"


def follow_pages(request_page: Callable[[str | None, int], Page], *, subject: str) -> Iterator[Page]:
    """Yield all pages up to the last. An empty page need not be the last.

    `request_page` requests the page with a token (None for the first page) and a number. Messages name `subject`. If
    the service refuses a token, or a list would never end, an error is raised.
    """
    token: str | None = None
    tokens: set[str] = set()
    page_numbers: dict[int, int] = {}
    ids: set[str] = set()
    pages_without_new_ids = 0
    for number in itertools.count(1):
        try:
            page = request_page(token, number)
        except StatusError as error:
            # the first page succeeded with the same request, so only its token can be wrong
            if token is None or error.status not in _STATUSES_OF_EXPIRED_TOKENS:
                raise
            raise ExpiredPageTokenError(str(error), status=error.status, error_code=error.error_code) from None
        token = page.next_page_token
        if token is None:
            yield page
            return
        known = len(ids)
        ids.update(page.ids)
        pages_without_new_ids = 0 if len(ids) > known else pages_without_new_ids + 1
        first = page_numbers.setdefault(hash(tuple(page.ids)), number) if page.ids else number
        problem = ""
        if token in tokens:
            problem = "next_page_token repeats that of an earlier page"
        elif first != number:
            problem = f"page {first} is repeated under another page token"
        elif pages_without_new_ids >= MAX_PAGES_WITHOUT_NEW_IDS:
            problem = f"the last {MAX_PAGES_WITHOUT_NEW_IDS} pages contain no new record, and more are announced"
        if problem:
            raise ProtocolError(f"{subject}, page {number}: pagination loop: {problem}")
        tokens.add(token)
        yield page


def restart_on_expired_token(read: Callable[[], Decoded], *, attempts: int) -> Decoded:
    """Call `read` again when a page token expires, `attempts` times in all."""
    for _ in range(attempts - 1):
        with contextlib.suppress(ExpiredPageTokenError):
            return read()
    return read()


def is_id(text: object) -> bool:
    """Return whether a URL path can contain the id. The ids "", "." and ".." would change the path."""
    return isinstance(text, str) and text not in {"", ".", ".."}


def user_name(text: str) -> str:
    """Return a user name for the audit log. Refuse a text that cannot be one."""
    return header_text(text, "modified_by", encoding="utf-8")


def _path(ledger_id: str) -> str:
    return f"/v0/ledgers/{_segment(ledger_id, 'ledger_id')}"


def _segment(identifier: str, name: str) -> str:
    """Percent-encode an id for a path."""
    if not is_id(identifier):
        raise InputError(f"{name} {_plain(identifier)} is not an id")
    return urllib.parse.quote(identifier, safe="")


def _plain(text: object) -> str:
    """Format an id or name for a message, on one line."""
    is_plain = isinstance(text, str) and 0 < len(text) <= _MAX_TEXT_LENGTH and text.isprintable()
    return str(text) if is_plain else quote(text, limit=_MAX_TEXT_LENGTH)


def _dates(period: Period | _LocaltimeDays) -> dict[str, str]:
    return {
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
        "time_zone": period.time_zone,
    }


def _join_list(texts: Iterable[str]) -> str | None:
    """Join a list with commas. Refuse elements that contain a comma."""
    elements = to_texts(texts)
    for text in elements:
        if "," in text:
            raise InputError(f"an element with a comma cannot be sent in a list: {_plain(text)}")
    return ",".join(elements) or None


def _without_none(**values: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON and query values)
    return {name: value for name, value in values.items() if value is not None}
