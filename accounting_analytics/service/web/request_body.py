"""Bodies of requests: JSON of limited size that arrives in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.wire.response_models import JSON, has_media_type

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY = 64 * 1024
"""Bytes of a body."""

BODY_DEADLINE = 20
"""Seconds within which the whole body must arrive."""


def check_json(request: Request) -> None:
    """Refuse a body that is not sent as JSON with 415."""
    if not has_media_type(request.headers.get("content-type", ""), JSON):
        raise OperationRefusedError(f"the body must be sent as {JSON}", status=415, error_code="unsupported_media_type")


async def read_body(request: Request) -> bytes:
    """Body of a request; 413 as soon as it is too large, 408 if it is too late."""
    body = bytearray()
    with anyio.move_on_after(BODY_DEADLINE):
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise OperationRefusedError(
                    f"the body is larger than {MAX_BODY} bytes", status=413, error_code="body_too_large"
                )
        return bytes(body)
    raise OperationRefusedError(
        f"the body did not arrive within {BODY_DEADLINE} s; nothing was changed",
        status=408,
        error_code="request_timeout",
    )
