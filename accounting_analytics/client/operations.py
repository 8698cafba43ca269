"""The four operations as requests and responses, and paging."""

from __future__ import annotations

import contextlib
import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from accounting_analytics.arguments import to_texts
from accounting_analytics.client.retrying_client import OperationRequest
from accounting_analytics.client.url_and_header_text import (
    path_segment,
    plain,
    query_text,
    user_name,
)
from accounting_analytics.errors import ExpiredPageTokenError, InputError, ProtocolError, StatusError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from accounting_analytics.periods import Period


MAX_LIMIT = 1000
DEFAULT_LIMIT = 50
_MAX_PAGE_TOKEN_LENGTH = 32_768


def create_ledger(*, name: str, editable: bool, expand: Iterable[str] = (), **fields: Any) -> OperationRequest:  # noqa: ANN401
    """Request that creates a ledger; `fields` are the interface's, None where omitted."""
    body = _without_none(name=query_text(name, "name"), editable=editable, **fields)
    for field, value in body.items():
        if isinstance(value, str):
            query_text(value, field)
    parameters = _without_none(expand=_join_list(expand, "expand"))
    return OperationRequest(
        "create ledger",
        "POST",
        "/v0/ledgers",
        parameters,
        subject=quote(name),
        body=body,
        if_lost=f"a ledger {quote(name)} may have been created: look for it by this name before you create it again",
    )


def recategorize_transaction(
    ledger_id: str,
    transaction_id: str,
    *,
    updated_category_ledger_id: str,
    category_ledger_id: str | None,
    modified_by: str | None,
) -> OperationRequest:
    """Request that changes the category of a transaction."""
    path = (
        f"/v0/ledgers/{path_segment(ledger_id, 'ledger_id')}"
        f"/transactions/{path_segment(transaction_id, 'transaction_id')}/categories"
    )
    body = {"updated_category_ledger_id": query_text(updated_category_ledger_id, "updated_category_ledger_id")}
    if category_ledger_id is not None:
        body["category_ledger_id"] = query_text(category_ledger_id, "category_ledger_id")
    return OperationRequest(
        "recategorize transaction",
        "PUT",
        path,
        {},
        subject=f"transaction {plain(transaction_id)} of ledger {plain(ledger_id)}",
        body=body,
        headers={} if modified_by is None else {"modified-by": user_name(modified_by, "modified_by")},
    )


def list_line_entries(
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


def retrieve_cash_flow_report(period: Period, *, tag_ids: Iterable[str] = ()) -> OperationRequest:
    """Request for the cash flow report."""
    parameters = _dates(period) | _without_none(tag_ids=_join_list(tag_ids, "tag_ids"))
    return OperationRequest(
        "retrieve cash flow report", "GET", "/v0/reports/cash-flow", parameters, subject=str(period), is_report=True
    )


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


MAX_PAGES_WITHOUT_NEW_IDS = 100
_STATUSES_OF_EXPIRED_TOKENS = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.UNPROCESSABLE_ENTITY}
)


class ListPage(Protocol):
    """One page of a list."""

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the records on the page."""
        ...

    @property
    def next_page_token(self) -> str | None:
        """Token of the next page; None on the last one."""
        ...


Page = TypeVar("Page", bound=ListPage)
Result = TypeVar("Result")


def follow_pages(request_page: Callable[[str | None, int], Page], *, subject: str) -> Iterator[Page]:
    """Yield page after page up to the one without a next page token; an empty page is not the end.

    `request_page` requests the page of a token (None for the first page) and of a number, and `subject` is what is
    listed, for messages. A token that the service refuses, and a list that would never end, are errors.
    """
    guard = _LoopGuard(subject)
    token: str | None = None
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
        guard.check(number, token, page.ids)
        yield page


def restart_on_expired_token(read: Callable[[], Result], *, attempts: int) -> Result:
    """Call `read` again from its first page when a page token expires, `attempts` times in all."""
    for _ in range(attempts - 1):
        with contextlib.suppress(ExpiredPageTokenError):
            return read()
    return read()


class _LoopGuard:
    """Remembers the tokens, pages and ids of one list, and refuses a page that shows that the list never ends."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._tokens: set[str] = set()
        self._page_numbers: dict[int, int] = {}
        self._ids: set[str] = set()
        self._pages_without_new_ids = 0

    def check(self, number: int, token: str, ids: Sequence[str]) -> None:
        """Record the ids and the next page token of a page that is not the last one."""
        where = f"{self._subject}, page {number}: pagination loop"
        if token in self._tokens:
            raise ProtocolError(f"{where}: next_page_token repeats that of an earlier page")
        self._tokens.add(token)
        first = self._page_numbers.setdefault(hash(tuple(ids)), number) if ids else number
        if first != number:
            raise ProtocolError(f"{where}: page {first} is repeated under another page token")
        known = len(self._ids)
        self._ids.update(ids)
        self._pages_without_new_ids = 0 if len(self._ids) > known else self._pages_without_new_ids + 1
        if self._pages_without_new_ids >= MAX_PAGES_WITHOUT_NEW_IDS:
            raise ProtocolError(
                f"{where}: the last {MAX_PAGES_WITHOUT_NEW_IDS} pages contain no new record, and more are announced"
            )
