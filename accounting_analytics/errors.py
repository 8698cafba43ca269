"""Every error the package raises.

::

    AccountingAnalyticsError                exit code
    |- InputError                           2   what the caller gave cannot be used
    |  |- ConfigurationError                    an option, environment variable or profile
    |  |- AmountError                           an amount that is not exact money at the scale
    |  |- PeriodError                           dates or a time zone
    |  |- FrameError                            a DataFrame that is not the table it should be
    |  |- HierarchyError                        parents that are unknown or form a cycle
    |  |- PostingRefusedError                   journal entries; nothing was posted
    |  |- ImportRefusedError                    a file of books; nothing was imported
    |  |- RulesError                            a rules file
    |  |- PlanError                             a recategorization plan or its journal
    |  |- CheckpointError                       the folder of a load that can go on
    |  `- NotebookParametersError               parameters a notebook does not declare
    |- ServiceError                         4   the service, or the road to it
    |  |- TransportError                        no answer came
    |  |  `- CertificateRefusedError               ... because the service cannot prove who it is
    |  |- DeadlineExceededError                 the answer did not come in time
    |  |- ProtocolError                         an answer that breaks the interface
    |  |  `- GarbledAnswerError                 ... because it was cut or mixed up on the way
    |  `- StatusError                           an answer that refuses
    |     |- InvalidRequestError                400, 422 and any other 4xx
    |     |- AuthenticationError                401
    |     |- PermissionDeniedError              403
    |     |- NotFoundError                      404, 410
    |     |- ConflictError                      409
    |     |- RateLimitedError                   429
    |     `- ServerFaultError                   5xx and whatever else is no success
    |- BooksError                           3   the books themselves
    |  |- IncompleteLoadError                   lines are missing
    |  |  `- ChangedWhileReadingError              the books moved on during the load
    |  `- BooksDoNotTieError                    reported and recomputed differ
    |- RecategorizationIncompleteError      6   items not done, or unknown
    |- NotebookFailedError                  1   a notebook raised
    |- JobTimedOutError                     5   a job ran out of time or was killed
    `- OperationRefusedError                4   the embedded service refuses an operation
       `- TokenRefusedError                     ... or an access token, in the form of RFC 6749

Each says what was wrong and where; what is safe and what to do next stand in the message too.
"""

from __future__ import annotations

from typing import Any


class AccountingAnalyticsError(Exception):
    """Any error raised on purpose by this package; catch it to catch them all."""

    exit_code: int = 1


class InputError(AccountingAnalyticsError):
    """What the caller gave cannot be used; nothing was changed."""

    exit_code = 2


class ConfigurationError(InputError):
    """An option, an environment variable or a profile is missing or wrong."""


class AmountError(InputError):
    """A value is not an exact amount of money at the scale in use."""


class PeriodError(InputError):
    """The dates or the time zone do not name a period."""


class FrameError(InputError):
    """A DataFrame is not the table the function needs; the message names column and rule."""


class HierarchyError(InputError):
    """Parent ledgers are unknown or form a cycle."""


class PostingRefusedError(InputError):
    """Journal entries cannot be posted as they are; nothing was posted.

    Attributes
    ----------
    entry_index : int or None
        Which of the given entries, counted from 0; None when it is not about one entry.
    """

    def __init__(self, message: str, *, entry_index: int | None = None) -> None:
        super().__init__(message)
        self.entry_index = entry_index


class ImportRefusedError(InputError):
    """A file of books cannot be imported; nothing was imported, the message names the line."""


class RulesError(InputError):
    """A rules file cannot be read; the message names the rule."""


class PlanError(InputError):
    """A recategorization plan or its journal is not usable as it stands."""


class CheckpointError(InputError):
    """The folder of a load is another load's, in use, damaged or not to be written; finished windows stay safe."""


class NotebookParametersError(InputError):
    """A notebook was given parameters that it does not declare, or a secret as one."""


class ServiceError(AccountingAnalyticsError):
    """The service, or the road to it, failed."""

    exit_code = 4


class TransportError(ServiceError):
    """No answer came: the service is down, unreachable, or cut the connection."""


class CertificateRefusedError(TransportError):
    """The service's certificate is not to be trusted: nothing was sent, and asking again would not help."""


class DeadlineExceededError(ServiceError):
    """The answer did not come before the deadline of the call."""


class ProtocolError(ServiceError):
    """The service answered, but not as the interface says; no value was guessed."""


class GarbledAnswerError(ProtocolError):
    """The answer was cut or mixed up on the way; asking again may bring a whole one."""


class StatusError(ServiceError):
    """The service answered with a status that is no success.

    Attributes
    ----------
    status : int
        The HTTP status.
    error_code : str or None
        The service's own code, such as ``category_not_found``, where the body has one.
    """

    def __init__(self, message: str, *, status: int, error_code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the keyword arguments (worker processes hand errors back)."""
        return (_restore_status_error, (type(self), str(self), self.status, self.error_code))


class InvalidRequestError(StatusError):
    """The service refused what was asked (400, 422 and any other 4xx)."""


class AuthenticationError(StatusError):
    """The token is missing, wrong or expired (401)."""


class PermissionDeniedError(StatusError):
    """The token may not do this, or the subscription tier does not allow it (403)."""


class NotFoundError(StatusError):
    """The ledger, transaction or category does not exist in this instance (404)."""


class ConflictError(StatusError):
    """Something else changed the same thing first (409)."""


class RateLimitedError(StatusError):
    """Too many requests, and waiting longer was not allowed (429)."""


class ServerFaultError(StatusError):
    """The service failed (5xx), or answered with a status the interface does not know."""


class BooksError(AccountingAnalyticsError):
    """The books are not whole, or do not agree with the report."""

    exit_code = 3


class IncompleteLoadError(BooksError):
    """Lines are missing from a load; figures made from it would be wrong."""


class ChangedWhileReadingError(IncompleteLoadError):
    """Lines came, went or changed while they were read, so the load mixes two states of the books."""


class BooksDoNotTieError(BooksError):
    """The reported and the recomputed cash flow report differ."""


class RecategorizationIncompleteError(AccountingAnalyticsError):
    """A bulk recategorization ended with items that are not done or unknown."""

    exit_code = 6


class NotebookFailedError(AccountingAnalyticsError):
    """A notebook raised; the executed notebook was kept.

    Attributes
    ----------
    exit_code : int
        That of the error the notebook raised, where it is one of this package; else 1.
    """

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JobTimedOutError(AccountingAnalyticsError):
    """A job ran out of time or was killed."""

    exit_code = 5


class OperationRefusedError(AccountingAnalyticsError):
    """The embedded service refuses an operation; it becomes the HTTP answer.

    Attributes
    ----------
    status : int
        HTTP status of the answer.
    error_code : str
        Stable code of the refusal.
    detail : list of dict
        ``loc``, ``msg``, ``type`` per bad value; only with status 422.
    headers : dict
        Headers of the answer that belong to the refusal, such as ``retry-after``.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        status: int,
        error_code: str,
        detail: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code
        self.detail = detail or []
        self.headers = headers or {}


class TokenRefusedError(OperationRefusedError):
    """The embedded service issues no access token; ``error_code`` is one of RFC 6749."""


def _restore_status_error(kind: type[StatusError], message: str, status: int, error_code: str | None) -> StatusError:
    return kind(message, status=status, error_code=error_code)
