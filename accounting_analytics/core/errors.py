"""Every error the package raises.

::

    AccountingAnalyticsError                exit code
    |- InputError                           2   the input cannot be used
    |  |- ConfigurationError                    an option, environment variable or profile
    |  |- AmountError                           an amount that is not exact at the scale
    |  |- PeriodError                           dates or a time zone
    |  |- FrameError                            a DataFrame that is not a valid table
    |  |- HierarchyError                        parents that are unknown or form a cycle
    |  |- PostingRefusedError                   journal entries; nothing was posted
    |  |- ImportRefusedError                    a file of books; nothing was imported
    |  |- RulesError                            a rules file
    |  |- PlanError                             a recategorization plan or its journal
    |  |- CheckpointError                       the folder of a resumable load
    |  `- NotebookParametersError               parameters that a notebook does not declare
    |- ServiceError                         4   the service or the network
    |  |- TransportError                        no response arrived
    |  |  |- NoConnectionError                     ... because no connection was ever made
    |  |  `- CertificateRefusedError               ... because the certificate is not trusted
    |  |- DeadlineExceededError                 no response before the deadline
    |  |- ProtocolError                         a response that breaks the interface
    |  |  `- GarbledAnswerError                 ... because it is truncated or corrupted
    |  `- StatusError                           an unsuccessful HTTP status
    |     |- InvalidRequestError                400, 422 and any other 4xx
    |     |  `- ExpiredPageTokenError               ... because a page token is no longer accepted
    |     |- AuthenticationError                401
    |     |- PermissionDeniedError              403
    |     |- NotFoundError                      404, 410
    |     |- ConflictError                      409
    |     |- RateLimitedError                   429
    |     `- ServerFaultError                   5xx and any other unsuccessful status
    |- BooksError                           3   the books
    |  |- EmptyPeriodError                      a period without line entries
    |  |- IncompleteLoadError                   lines are missing
    |  |  `- ChangedWhileReadingError              the books changed during the load
    |  `- BooksDoNotTieError                    reported and recomputed differ
    |- RecategorizationIncompleteError      6   items not done or unknown
    |- NotebookFailedError                  1   a notebook failed
    |- PdfFailedError                       1   a page could not be printed as a PDF
    |- JobTimedOutError                     5   a job timed out or was killed
    `- OperationRefusedError                4   the embedded service refuses an operation

Each message says what was wrong and where, what is safe, and what to do next.
"""

from __future__ import annotations

from typing import Any, TypeVar

Error = TypeVar("Error", bound="AccountingAnalyticsError")


class AccountingAnalyticsError(Exception):
    """Base of all errors that this package raises on purpose."""

    exit_code: int = 1


class InputError(AccountingAnalyticsError):
    """The input cannot be used; the message says what was changed, if anything was."""

    exit_code = 2


class ConfigurationError(InputError):
    """An option, an environment variable or a profile is missing or wrong."""


class AmountError(InputError):
    """A value is not an exact amount at the scale in use."""


class PeriodError(InputError):
    """The dates or the time zone are not a valid period."""


class FrameError(InputError):
    """A DataFrame is not the table that a function needs; the message names column and rule."""


class HierarchyError(InputError):
    """Parent ledgers are unknown or form a cycle."""


class PostingRefusedError(InputError):
    """Journal entries cannot be posted as they are; nothing was posted.

    Attributes
    ----------
    entry_index : int or None
        Index of the entry, counted from 0; None if the error is not about one entry.
    """

    def __init__(self, message: str, *, entry_index: int | None = None) -> None:
        super().__init__(message)
        self.entry_index = entry_index


class ImportRefusedError(InputError):
    """A file of books cannot be imported; nothing was imported, the message names the line.

    Attributes
    ----------
    problems : tuple
        All problems of the file, of which the message has the first: each with file, place, date, description, problem.
    """

    def __init__(self, message: str, *, problems: tuple[tuple[str, str, str, str, str], ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class RulesError(InputError):
    """A rules file cannot be read; the message names the rule."""


class PlanError(InputError):
    """A recategorization plan or its journal cannot be used."""


class CheckpointError(InputError):
    """The checkpoint folder belongs to another load, is in use, damaged or not writable; finished windows stay safe."""


class NotebookParametersError(InputError):
    """A notebook was given a parameter that it does not declare, of another type, or a secret."""


class ServiceError(AccountingAnalyticsError):
    """The service or the network failed."""

    exit_code = 4


class TransportError(ServiceError):
    """No response arrived: the service is down, unreachable, or closed the connection."""


class NoConnectionError(TransportError):
    """No connection to the service was ever made: the address is wrong, or the service is down."""


class CertificateRefusedError(TransportError):
    """The certificate of the service is not trusted: nothing was sent, and a retry would not help."""


class DeadlineExceededError(ServiceError):
    """No complete response arrived before the deadline of the call."""


class ProtocolError(ServiceError):
    """The response breaks the interface; no value was guessed."""


class GarbledAnswerError(ProtocolError):
    """The response is truncated or corrupted; a retry may succeed."""


class StatusError(ServiceError):
    """The service responded with an unsuccessful status.

    Attributes
    ----------
    status : int
        The HTTP status.
    error_code : str or None
        Error code of the service, such as ``category_not_found``; None where the body has none.
    """

    def __init__(self, message: str, *, status: int, error_code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the keyword arguments, as worker processes return errors."""
        return (_restore_status_error, (type(self), str(self), self.status, self.error_code))


class InvalidRequestError(StatusError):
    """The service refused the request (400, 422 and any other 4xx)."""


class ExpiredPageTokenError(InvalidRequestError):
    """The service no longer accepts a page token that it issued (400, 404, 410 or 422 on a page after the first)."""


class AuthenticationError(StatusError):
    """The token is missing, wrong or expired (401)."""


class PermissionDeniedError(StatusError):
    """The token or the subscription tier does not allow the operation (403)."""


class NotFoundError(StatusError):
    """The ledger, transaction or category does not exist in this instance (404)."""


class ConflictError(StatusError):
    """The same object was changed by another request first (409)."""


class RateLimitedError(StatusError):
    """Too many requests, and the deadline did not allow waiting (429)."""


class ServerFaultError(StatusError):
    """The service failed (5xx), or responded with a status that the interface does not define."""


class BooksError(AccountingAnalyticsError):
    """The books are incomplete, or do not agree with the report."""

    exit_code = 3


class EmptyPeriodError(BooksError):
    """A period has no line entries, so that a report of it shows nothing; often the dates are wrong."""


class IncompleteLoadError(BooksError):
    """Lines are missing from a load; figures computed from it would be wrong."""


class ChangedWhileReadingError(IncompleteLoadError):
    """Lines were added, removed or changed during a load, so it mixes two states of the books."""


class BooksDoNotTieError(BooksError):
    """Two results that must be equal differ: reported and recomputed, or predicted by a plan and found after it."""


class RecategorizationIncompleteError(AccountingAnalyticsError):
    """A bulk recategorization ended with items that are not done or unknown."""

    exit_code = 6


class NotebookFailedError(AccountingAnalyticsError):
    """A notebook failed; the executed notebook was saved.

    Attributes
    ----------
    exit_code : int
        Exit code of the error in the notebook if it is one of this package; else 1.
    """

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class PdfFailedError(AccountingAnalyticsError):
    """A browser printed no PDF, or one without page numbers; the page itself is not changed."""


class JobTimedOutError(AccountingAnalyticsError):
    """A job timed out or was killed."""

    exit_code = 5


class OperationRefusedError(AccountingAnalyticsError):
    """The embedded service refuses an operation; the error becomes the HTTP response.

    Attributes
    ----------
    status : int
        HTTP status of the response.
    error_code : str
        Stable code of the refusal.
    detail : list of dict
        ``loc``, ``msg``, ``type`` of each invalid value; only with status 422.
    headers : dict
        Further headers of the response, such as ``retry-after``.
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


def with_context(error: Error, context: str) -> Error:
    """Return the error with `context` appended to its message; type and attributes stay."""
    error.args = (f"{error}; {context}", *error.args[1:])
    return error


def _restore_status_error(kind: type[StatusError], message: str, status: int, error_code: str | None) -> StatusError:
    return kind(message, status=status, error_code=error_code)
