"""The response of a cash flow report: it is sent in chunks from a temporary file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from accounting_analytics.service.wire.responses import JSON

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from accounting_analytics.service.operations.retrieve_cash_flow_report import StreamedReport


class ReportResponse(StreamingResponse):
    """Response that closes its report and releases its slot when it was sent or sending failed.

    Parameters
    ----------
    report : StreamedReport
        The report.
    release : callable
        Frees the place of the report among those in flight.
    """

    def __init__(self, report: StreamedReport, release: Callable[[], object]) -> None:
        super().__init__(report.chunks, headers={"content-length": str(report.length)}, media_type=JSON)
        self._cleanup = ExitStack()
        self._cleanup.callback(report.close)
        self._cleanup.callback(release)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the report."""
        with self._cleanup:
            await super().__call__(scope, receive, send)
