"""Findings of the doctor: one for each check."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.errors import BooksError, ConfigurationError, ServiceError

if TYPE_CHECKING:
    from accounting_analytics.errors import AccountingAnalyticsError


class Verdict(StrEnum):
    """Result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


class Part(StrEnum):
    """What a check examines, and what is at fault when it fails."""

    MACHINE = "This machine"
    SERVICE = "The service"
    BOOKS = "The books"

    @property
    def exit_code(self) -> int:
        """Exit code of a failed check, that of the corresponding error."""
        return {
            Part.MACHINE: ConfigurationError.exit_code,
            Part.SERVICE: ServiceError.exit_code,
            Part.BOOKS: BooksError.exit_code,
        }[self]


class Finding(NamedTuple):
    """Result of one check, and what to do about it.

    Attributes
    ----------
    part : Part
        What was examined.
    check : str
        Name of the check.
    verdict : Verdict
        Result of the check.
    message : str
        What the result means; the reason if nothing was checked.
    next_step : str
        What to do; empty if there is nothing to do.
    error_code : int or None
        Exit code of the error that ended the check, if one did.
    """

    part: Part
    check: str
    verdict: Verdict
    message: str
    next_step: str = ""
    error_code: int | None = None

    @classmethod
    def ok(cls, part: Part, check: str, message: str) -> Self:
        """Return the finding of a check that passed."""
        return cls(part, check, Verdict.OK, message)

    @classmethod
    def not_checked(cls, part: Part, check: str, reason: str) -> Self:
        """Return the finding of a check that could not be made; `reason` begins with because."""
        return cls(part, check, Verdict.NOT_CHECKED, reason)

    @classmethod
    def warning(cls, part: Part, check: str, message: str, next_step: str) -> Self:
        """Return the finding of a check that passed with a reservation."""
        return cls(part, check, Verdict.WARNING, message, next_step)

    @classmethod
    def failed(cls, part: Part, check: str, message: str, next_step: str) -> Self:
        """Return the finding of a check that failed."""
        return cls(part, check, Verdict.FAILED, message, next_step)

    @classmethod
    def from_error(cls, part: Part, check: str, error: AccountingAnalyticsError, next_step: str) -> Self:
        """Return the finding of a check that an error ended; it keeps the error's exit code."""
        return cls(part, check, Verdict.FAILED, str(error), next_step, error_code=error.exit_code)

    @property
    def exit_code(self) -> int:
        """0, or the exit code of a failed check."""
        if self.verdict is not Verdict.FAILED:
            return 0
        return self.part.exit_code if self.error_code is None else self.error_code
