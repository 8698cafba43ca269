"""Raw responses of the operations: status, headers, request id and undecoded bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from accounting_analytics.client import operations
from accounting_analytics.client.records import CashFlowReport, Ledger, LineEntryPage, RecategorizedTransaction
from accounting_analytics.periods import Period, choose_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.client.http_request import HttpResponse
    from accounting_analytics.client.retry import OperationRequest, RetryingClient
    from accounting_analytics.periods import DateLike, ZoneLike

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, repr=False, slots=True)
class RawResponse(Generic[Decoded]):
    """A successful response, not yet decoded.

    Attributes
    ----------
    status : int
        HTTP status.
    headers : mapping
        Headers by lower-case name; secrets masked.
    content : bytes
        The body, decompressed.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    _client: RetryingClient
    _request: OperationRequest
    _response: HttpResponse
    _kind: type[Decoded]

    @property
    def request_id(self) -> str | None:
        """Request id, by which the operators of the service find this request; None where the service sends none."""
        return self.headers.get("x-request-id")

    def parse(self) -> Decoded:
        """Decode the body into the wire record that the operation returns.

        Raises
        ------
        ProtocolError
            The body breaks the interface.
        """
        return self._client.decode(self._request, self._response, self._kind)

    def __repr__(self) -> str:
        return f"RawResponse(status={self.status}, {len(self.content)} bytes, request_id={self.request_id!r})"


class RawLedgerClient:
    """The operations of :class:`~accounting_analytics.LedgerClient`, with the same arguments and raw responses."""

    def __init__(self, client: RetryingClient, time_zone: str | None) -> None:
        self._client = client
        self._time_zone = time_zone

    def create_ledger(self, **fields: Any) -> RawResponse[Ledger]:  # noqa: ANN401 (those of LedgerClient)
        """Create a ledger; sent once."""
        return self._raw(operations.create_ledger(**fields), Ledger)

    def recategorize_transaction(
        self,
        ledger_id: str,
        transaction_id: str,
        *,
        updated_category_ledger_id: str,
        category_ledger_id: str | None = None,
        modified_by: str | None = None,
    ) -> RawResponse[RecategorizedTransaction]:
        """Change the category of a transaction; sent once."""
        request = operations.recategorize_transaction(
            ledger_id,
            transaction_id,
            updated_category_ledger_id=updated_category_ledger_id,
            category_ledger_id=category_ledger_id,
            modified_by=modified_by,
        )
        return self._raw(request, RecategorizedTransaction)

    def list_line_entries(
        self,
        ledger_id: str,
        start_date: DateLike,
        end_date: DateLike,
        *,
        time_zone: ZoneLike | None = None,
        limit: int = operations.DEFAULT_LIMIT,
        **options: Any,  # noqa: ANN401 (those of LedgerClient)
    ) -> RawResponse[LineEntryPage]:
        """Retrieve one page of a ledger's line entries."""
        period = Period(start_date, end_date, choose_zone(time_zone, self._time_zone).name)
        return self._raw(operations.list_line_entries(ledger_id, period, limit=limit, **options), LineEntryPage)

    def retrieve_cash_flow_report(
        self,
        start_date: DateLike,
        end_date: DateLike,
        *,
        time_zone: ZoneLike | None = None,
        **options: Any,  # noqa: ANN401 (those of LedgerClient)
    ) -> RawResponse[CashFlowReport]:
        """Retrieve the cash flow report of a period."""
        period = Period(start_date, end_date, choose_zone(time_zone, self._time_zone).name)
        return self._raw(operations.retrieve_cash_flow_report(period, **options), CashFlowReport)

    def _raw(self, request: OperationRequest, kind: type[Decoded]) -> RawResponse[Decoded]:
        response = self._client.request_raw(request)
        return RawResponse(response.status, response.headers, response.content, self._client, request, response, kind)
