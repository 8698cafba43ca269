"""Requests of operations, with authorization, rate limit and retries; every failure is a named error.

Reads are retried when the service or the network fails temporarily. Changes are sent once. No request starts after the
deadline, before the rate limit allows it, or sooner than the service asked to wait.
"""

from __future__ import annotations

import itertools
import logging
import random
import time
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from accounting_analytics.client.http_request import (
    MIB,
    Authorization,
    HttpRequest,
    HttpSender,
    is_json,
    status_error,
)
from accounting_analytics.client.rate_limiter import RateLimiter, SendingPausedError, requested_wait
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.client.transport import Deadline, PerProcess
from accounting_analytics.client.url_and_header_text import check_url, header_name, header_value
from accounting_analytics.errors import (
    CertificateRefusedError,
    ConfigurationError,
    DeadlineExceededError,
    GarbledAnswerError,
    NoConnectionError,
    ProtocolError,
    RateLimitedError,
    ServiceError,
    TransportError,
    with_context,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from accounting_analytics.client.credentials import Credentials
    from accounting_analytics.client.http_request import HttpResponse
    from accounting_analytics.client.secret import Secret

Decoded = TypeVar("Decoded")
Result = TypeVar("Result")

_log = logging.getLogger("accounting_analytics.client")
# without this, Python prints their warnings to stderr where no logging is configured
_log.addHandler(logging.NullHandler())

_RETRYABLE_STATUSES = frozenset({408, 429, *range(500, 600)}) - {501, 505, 507}
_MAX_WAIT = 120.0
_ATTEMPTS_TO_CONNECT = 2
"""Attempts while no connection was ever made, when the address is probably wrong."""
_FIRST_BACKOFF = 0.1
_MAX_BACKOFF = 5.0
_MAX_BYTES = 64 * MIB
_MAX_REPORT_BYTES = 1024 * MIB


@dataclass(frozen=True)
class OperationRequest:
    """A call of an operation of the interface; its text, for messages, names operation and subject.

    `if_lost` is added to the error if it is not known whether the request was carried out.
    """

    operation: str
    method: str
    path: str
    parameters: Mapping[str, str]
    subject: str = ""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    is_report: bool = False
    if_lost: str = ""

    def __str__(self) -> str:
        return f"{self.operation}{f' ({self.subject})' if self.subject else ''}"


@dataclass(frozen=True)
class RetryPolicy:
    """Limits of a call, as in LedgerClient: seconds of an attempt and of the call, attempts, size of the response."""

    timeout: float
    deadline: float | Deadline
    max_attempts: int
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        deadline = self.deadline.seconds if isinstance(self.deadline, Deadline) else self.deadline
        if not (self.timeout > 0 and deadline > 0 and self.max_attempts >= 1 and (self.most_bytes or 1) > 0):
            raise ConfigurationError("timeout, deadline, max_attempts and most_bytes must be positive")

    def start(self) -> Deadline:
        """Deadline of a call that starts now."""
        return self.deadline if isinstance(self.deadline, Deadline) else Deadline(self.deadline)

    def max_response_bytes(self, request: OperationRequest) -> int:
        """Largest response to a request."""
        return self.most_bytes or (_MAX_REPORT_BYTES if request.is_report else _MAX_BYTES)


class _RetryableError(Exception):
    """A failure that may be temporary; holds the error to raise when no attempt is left."""

    def __init__(self, error: ServiceError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


class RetryingClient:
    """Sends requests of operations to one instance of a service."""

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials,
        instance_id: str,
        instance_header: str,
        transport: httpx.BaseTransport | None,
        requests_per_minute: float | None,
        retry_policy: RetryPolicy,
    ) -> None:
        self.base_url = check_url(base_url, "base_url")
        self._headers = {header_name(instance_header): header_value(instance_id, "the instance id")}
        self._credentials = credentials
        self._retry_policy = retry_policy
        self._rate_limiter = PerProcess(lambda: RateLimiter(requests_per_minute))
        self._sender = HttpSender(
            self.base_url, transport=transport, secrets=credentials.secrets, rate_limiter=self._rate_limiter.get
        )

    @property
    def rate_limiter(self) -> RateLimiter:
        """Rate limiter of all threads of this process."""
        return self._rate_limiter.get()

    def with_retry_policy(self, **changes: Any) -> RetryingClient:  # noqa: ANN401 (attributes of RetryPolicy)
        """Return a client with a changed policy, over the same connections, credentials and rate limit."""
        other = object.__new__(RetryingClient)
        other.__dict__ |= self.__dict__
        other._retry_policy = replace(self._retry_policy, **changes)
        return other

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()
        self._credentials.close()

    def request(self, request: OperationRequest, kind: type[Decoded]) -> Decoded:
        """Send a request and decode the response."""
        return self._retry(request, lambda response: self._decode(request, response, kind))

    def request_json(self, request: OperationRequest) -> bytes:
        """Send a request and return the body of the successful response without decoding it."""
        return self._retry(request, lambda response: response.content)

    def _decode(self, request: OperationRequest, response: HttpResponse, kind: type[Decoded]) -> Decoded:
        """Wire record of a response; one that breaks the interface in any part is refused."""
        error_type: type[ProtocolError] = ProtocolError
        try:
            return decode(response.content, kind)
        except NotTheInterfaceError as error:
            problem = f"the response breaks the interface: {error}"
        except NotJSONError as error:
            problem, error_type = f"the response is not valid JSON: {error}", GarbledAnswerError
        raise error_type(f"{request}: {self._sender.masked(problem)}")

    def _retry(self, request: OperationRequest, finish: Callable[[HttpResponse], Result]) -> Result:
        """Repeat attempts until one succeeds or fails finally, or until no time or attempt is left."""
        deadline = self._retry_policy.start()
        for attempt in itertools.count(1):
            try:
                return self._attempt(request, finish, deadline)
            except _RetryableError as error:
                failure = error
            except ServiceError as error:
                refusal = with_context(error, f"no success after {attempt} attempts") if attempt > 1 else error
                raise refusal.with_traceback(None) from None  # the steps of an attempt tell the caller nothing
            # random, so that threads whose requests failed together do not retry together
            backoff = random.uniform(0.0, min(_MAX_BACKOFF, _FIRST_BACKOFF * 2**attempt))  # noqa: S311 (no secret)
            pause = backoff if failure.wait is None else 0.0  # the rate limiter waits for what the service asked
            if attempt >= self._max_attempts(request, failure) or (pause and pause >= deadline.remaining()):
                break
            time.sleep(pause)
        raise _final_error(failure.error, request, attempt).with_traceback(None)

    def _max_attempts(self, request: OperationRequest, failure: _RetryableError) -> int:
        """Return the number of attempts after which a failure is final."""
        allowed = self._retry_policy.max_attempts if request.method == "GET" else 1
        return min(allowed, _ATTEMPTS_TO_CONNECT) if isinstance(failure.error, NoConnectionError) else allowed

    def _attempt(
        self, request: OperationRequest, finish: Callable[[HttpResponse], Result], deadline: Deadline
    ) -> Result:
        """Send a request, and again with a new token if the first one has expired."""
        token = self._retryable(lambda: self._credentials.token(deadline))
        response = self._send(request, token, deadline)
        if response.status == HTTPStatus.UNAUTHORIZED and self._retryable(
            lambda: self._credentials.renew(token, deadline)
        ):
            response = self._send(request, self._credentials.token(deadline), deadline)
        return self._retryable(lambda: self._finish(request, response, finish, deadline))

    @staticmethod
    def _retryable(step: Callable[[], Result]) -> Result:
        """Run a step; failures of the network become retryable."""
        try:
            return step()
        except CertificateRefusedError:
            raise
        except (TransportError, DeadlineExceededError, GarbledAnswerError) as error:
            problem = _RetryableError(error.with_traceback(None))
        raise problem

    def _send(self, request: OperationRequest, token: Secret, deadline: Deadline) -> HttpResponse:
        """Send a request once, when the rate limit allows it, also when it is written to a connection."""
        while True:
            self.rate_limiter.acquire(deadline, request)
            try:
                return self._send_now(request, token, deadline)
            except SendingPausedError:
                self.rate_limiter.give_back()

    def _send_now(self, request: OperationRequest, token: Secret, deadline: Deadline) -> HttpResponse:
        started = time.monotonic()
        response: HttpResponse | None = None
        try:
            attempt_deadline = deadline.sooner(self._retry_policy.timeout)
            http_request, authorization = self._http_request(request), Authorization(token.prefixed("Bearer"))
            response = self._retryable(lambda: self._sender.send(http_request, authorization, attempt_deadline))
        finally:
            self.rate_limiter.update({} if response is None else response.headers, time.time())
            seconds = time.monotonic() - started
            if response is None:
                _log.debug("%s: no response after %.3f s", request, seconds)
            else:
                _log.debug("%s: %d, %d bytes in %.3f s", request, response.status, len(response.content), seconds)
        return response

    def _http_request(self, request: OperationRequest) -> HttpRequest:
        content_type = {} if request.body is None else {"content-type": "application/json"}
        return HttpRequest(
            description=str(request),
            method=request.method,
            url=f"{self.base_url}{request.path}",
            parameters=request.parameters,
            headers=self._headers | dict(request.headers or {}) | content_type,
            content=None if request.body is None else msgspec.json.encode(request.body),
            max_response_bytes=self._retry_policy.max_response_bytes(request),
        )

    def _finish(
        self,
        request: OperationRequest,
        response: HttpResponse,
        finish: Callable[[HttpResponse], Result],
        deadline: Deadline,
    ) -> Result:
        """Return the result of a successful response, or raise the error of any other."""
        status = response.status
        if status == HTTPStatus.OK or (request.method == "POST" and status == HTTPStatus.CREATED):
            if is_json(response):
                return finish(response)
            content_type = response.headers.get("content-type", "")[:60]
            raise GarbledAnswerError(
                f"{request}: the response is {content_type}, not JSON; is base_url the address of the service?"
            )
        if 200 <= status < 300:  # noqa: PLR2004 (what HTTP calls success)
            raise GarbledAnswerError(
                f"{request}: the service responded with status {status}, which the interface does not define"
            )
        error = status_error(request, response, self._sender.masked)
        if status not in _RETRYABLE_STATUSES:
            raise error
        wait = requested_wait(status, response.headers, time.time())
        if wait is None:
            raise _RetryableError(error)
        if request.method == "GET" and wait > min(_MAX_WAIT, deadline.remaining()):
            raise with_context(error, f"the service asks to wait {wait:.0f} seconds: try again then")
        raise _RetryableError(error, wait)


def _final_error(problem: ServiceError, request: OperationRequest, attempts: int) -> ServiceError:
    """Error of the last attempt, with the number of attempts, and what to do about a change that may have arrived."""
    if attempts > 1:
        problem = with_context(problem, f"no success after {attempts} attempts")
    if request.if_lost and not isinstance(problem, RateLimitedError | NoConnectionError):
        problem = with_context(problem, request.if_lost)
    return problem
