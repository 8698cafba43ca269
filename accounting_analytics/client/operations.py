"""The four operations as requests; every argument is validated before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.arguments import to_texts
from accounting_analytics.client.retrying_client import OperationRequest
from accounting_analytics.client.url_and_header_text import (
    path_segment,
    plain,
    query_text,
    user_name,
)
from accounting_analytics.errors import InputError, ProtocolError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

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
