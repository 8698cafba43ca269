"""A question to the service and what becomes of it: one retry policy, every refusal a named error.

Reads are asked again when the service or the road fails for a moment; changes are sent once. Nothing is asked beyond
the deadline, before the rate limit allows it, or sooner than the service asked to wait.
"""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from accounting_analytics.client.deadline import Deadline
from accounting_analytics.client.http_request import MIB, Authorization, Sending, Transfer, checked_url, is_json
from accounting_analytics.client.pacing import retry_after
from accounting_analytics.client.rate_limiter import Governor
from accounting_analytics.client.request_validation import header_name, header_value
from accounting_analytics.client.status_errors import status_error
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.errors import (
    CertificateRefusedError,
    ConfigurationError,
    DeadlineExceededError,
    GarbledAnswerError,
    ProtocolError,
    ServiceError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from accounting_analytics.client.credentials import Credentials
    from accounting_analytics.client.http_request import Answer
    from accounting_analytics.client.secret import Secret

Decoded = TypeVar("Decoded")
Finished = TypeVar("Finished")

_log = logging.getLogger("accounting_analytics.client")
# both are told to whoever configures logging, and not to a terminal where nobody did
_log.addHandler(logging.NullHandler())
logging.getLogger("stamina").addHandler(logging.NullHandler())

_TRIED_AGAIN = frozenset({408, 429, *range(500, 600)}) - {501, 505}
_OBEYS_RETRY_AFTER = frozenset({429, 503})
_LONGEST_WAIT = 120.0
_FIRST_WAIT = 0.1
_LONGEST_BACKOFF = 5.0
_MOST_BYTES = 64 * MIB
_MOST_REPORT_BYTES = 1024 * MIB


@dataclass(frozen=True)
class Request:
    """What is asked: in the interface's words, and in words for a message."""

    operation: str
    method: str
    path: str
    parameters: Mapping[str, str]
    subject: str = ""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    whole_report: bool = False

    def __str__(self) -> str:
        return f"{self.operation}{f' ({self.subject})' if self.subject else ''}"


@dataclass(frozen=True)
class Patience:
    """How long and how often a call is tried, and how much is taken in.

    Attributes
    ----------
    timeout : float
        Seconds for one attempt, from connecting to the last byte.
    deadline : float or Deadline
        Seconds for one call with all its attempts and waits; or one moment for many calls.
    max_attempts : int
        How often a read is tried in all.
    most_bytes : int or None
        Largest answer, decompressed; None is 64 MiB, and 1 GiB for a report.
    """

    timeout: float
    deadline: float | Deadline
    max_attempts: int
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        deadline = self.deadline.seconds if isinstance(self.deadline, Deadline) else self.deadline
        if not (self.timeout > 0 and deadline > 0 and self.max_attempts >= 1 and (self.most_bytes or 1) > 0):
            msg = "timeout, deadline, max_attempts and most_bytes must be positive"
            raise ConfigurationError(msg)

    def call(self) -> Deadline:
        """Deadline of a call that starts now."""
        return self.deadline if isinstance(self.deadline, Deadline) else Deadline(self.deadline)


class _PassingError(Exception):
    """What may pass: carries the error it becomes when it does not."""

    def __init__(self, error: ServiceError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


class Exchange:
    """Requests to one instance of one service."""

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials,
        instance_id: str,
        instance_header: str,
        transport: httpx.BaseTransport | None,
        requests_per_minute: float | None,
        patience: Patience,
    ) -> None:
        self.base_url = checked_url(base_url, "base_url")
        self._headers = {header_name(instance_header): header_value(instance_id, "the instance id")}
        self._credentials = credentials
        self._patience = patience
        self.governor = Governor(requests_per_minute)
        self._transfer = Transfer(self.base_url, transport=transport, secrets=credentials.secrets)

    def with_patience(self, **changes: Any) -> Exchange:  # noqa: ANN401 (attributes of Patience)
        """Return an exchange over the same connections, credentials and rate, with other patience."""
        other = object.__new__(Exchange)
        other.__dict__ |= self.__dict__
        other._patience = replace(self._patience, **changes)
        return other

    def close(self) -> None:
        """Close the connections."""
        self._transfer.close()
        self._credentials.close()

    def ask(self, request: Request, kind: type[Decoded]) -> Decoded:
        """Ask, and decode the answer."""
        return self._ask(request, lambda answer: self.decoded(request, answer, kind))

    def ask_raw(self, request: Request) -> Answer:
        """Ask, and hand over a successful answer as it came."""
        return self._ask(request, lambda answer: answer)

    def decoded(self, request: Request, answer: Answer, kind: type[Decoded]) -> Decoded:
        """Wire records of an answer; refuses what is not wholly the interface's."""
        broken: type[ProtocolError] = ProtocolError
        try:
            return decode(answer.content, kind)
        except NotTheInterfaceError as error:
            said = f"the answer breaks the interface: {error}"
        except NotJSONError as error:
            said, broken = f"the answer is not the JSON the interface promises: {error}", GarbledAnswerError
        msg = f"{request}: {self._transfer.masked(said)}"
        raise broken(msg)

    def _ask(self, request: Request, finish: Callable[[Answer], Finished]) -> Finished:
        """Ask until there is an answer, a final refusal, or no time or attempt left."""
        deadline = self._patience.call()
        again = request.method == "GET"
        tries = 0

        def wait_before_next(error: Exception) -> bool | float:
            nonlocal tries
            tries += 1
            if not isinstance(error, _PassingError) or not again:
                return False
            if error.wait is not None:
                return 0.0  # the governor lets nobody start before
            # full jitter: threads that failed together do not come back together
            wait = random.uniform(0.0, min(_LONGEST_BACKOFF, _FIRST_WAIT * 2**tries))  # noqa: S311 (no secret)
            return wait if wait < deadline.remaining() else False

        try:
            return self._attempt(request, finish, deadline)
        except _PassingError as passing:
            made = [passing]  # stamina's first attempt
        import stamina  # noqa: PLC0415 (takes a while to import, and most calls succeed at once)

        attempts = self._patience.max_attempts if again else 1
        try:
            for attempt in stamina.retry_context(on=wait_before_next, attempts=attempts, timeout=None):
                with attempt:
                    if made:
                        raise made.pop()
                    return self._attempt(request, finish, deadline)
        except _PassingError as passing:
            problem = passing.error
        if tries > 1:
            problem.add_note(f"after {tries} attempts")
        raise problem.with_traceback(None)

    def _attempt(self, request: Request, finish: Callable[[Answer], Finished], deadline: Deadline) -> Finished:
        """Ask once, and once more with a new token when the old one has expired."""
        token = self._passing(lambda: self._credentials.token(deadline))
        answer = self._send(request, token, deadline)
        if answer.status == HTTPStatus.UNAUTHORIZED and self._passing(lambda: self._credentials.renew(token, deadline)):
            answer = self._send(request, self._credentials.token(deadline), deadline)
        return self._passing(lambda: self._finished(request, answer, finish, deadline))

    @staticmethod
    def _passing(step: Callable[[], Finished]) -> Finished:
        """Take a step whose failures may pass."""
        try:
            return step()
        except CertificateRefusedError:
            raise
        except (TransportError, DeadlineExceededError, GarbledAnswerError) as error:
            problem = _PassingError(error.with_traceback(None))
        raise problem

    def _send(self, request: Request, token: Secret, deadline: Deadline) -> Answer:
        """Send once, when the rate allows it."""
        self.governor.turn(deadline, request)
        started = time.monotonic()
        sending = Sending(
            what=str(request),
            method=request.method,
            url=f"{self.base_url}{request.path}",
            parameters=request.parameters,
            headers=self._headers
            | dict(request.headers or {})
            | ({"content-type": "application/json"} if request.body is not None else {}),
            content=None if request.body is None else msgspec.json.encode(request.body),
            most_bytes=self._patience.most_bytes or (_MOST_REPORT_BYTES if request.whole_report else _MOST_BYTES),
        )
        answer: Answer | None = None
        try:
            until = deadline.sooner(self._patience.timeout)
            answer = self._passing(lambda: self._transfer.send(sending, Authorization(token.prefixed("Bearer")), until))
        finally:
            self.governor.answered({} if answer is None else answer.headers, time.time())
            took = time.monotonic() - started
            if answer is None:
                _log.debug("%s: no answer after %.3f s", request, took)
            else:
                _log.debug("%s: %d, %d bytes in %.3f s", request, answer.status, len(answer.content), took)
        return answer

    def _finished(
        self, request: Request, answer: Answer, finish: Callable[[Answer], Finished], deadline: Deadline
    ) -> Finished:
        """Make of an answer what is wanted of it, or the error that it is."""
        if answer.status == HTTPStatus.OK or (request.method == "POST" and answer.status == HTTPStatus.CREATED):
            if is_json(answer):
                return finish(answer)
            kind = answer.headers.get("content-type", "")[:60]
            msg = f"{request}: the answer is {kind}, not JSON; does base_url name the service itself?"
            raise GarbledAnswerError(msg)
        if 200 <= answer.status < 300:  # noqa: PLR2004 (what HTTP calls success)
            msg = f"{request}: the service answered {answer.status}, which the interface does not know"
            raise GarbledAnswerError(msg)
        error = status_error(request, answer, self._transfer.masked)
        if answer.status not in _TRIED_AGAIN:
            raise error
        wait = retry_after(answer.headers, time.time()) if answer.status in _OBEYS_RETRY_AFTER else None
        if wait is None:
            raise _PassingError(error)
        self.governor.pause(wait)
        if request.method == "GET" and wait > min(_LONGEST_WAIT, deadline.remaining()):
            msg = f"{error}; the service asks to wait {wait:.0f} seconds: try again then"
            raise type(error)(msg, status=error.status, error_code=error.error_code)
        raise _PassingError(error, wait)
