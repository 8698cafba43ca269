"""What one check found."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from accounting_analytics.errors import BooksError, ConfigurationError, ServiceError


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


class Part(StrEnum):
    """What a check looks at; also what is to blame when it fails."""

    MACHINE = "This machine"
    SERVICE = "The service"
    BOOKS = "The books"

    @property
    def exit_code(self) -> int:
        """Exit code of a failure here, as of the error it amounts to."""
        return {
            Part.MACHINE: ConfigurationError.exit_code,
            Part.SERVICE: ServiceError.exit_code,
            Part.BOOKS: BooksError.exit_code,
        }[self]


class Finding(NamedTuple):
    """What one check found.

    Attributes
    ----------
    part : Part
        What was looked at.
    check : str
        Name of the check.
    verdict : Verdict
        How it ended.
    said : str
        What it means; where nothing was checked, why.
    next_step : str
        What to do; empty where there is nothing to do.
    error_code : int or None
        Exit code of the error that ended the check, where one did.
    """

    part: Part
    check: str
    verdict: Verdict
    said: str
    next_step: str = ""
    error_code: int | None = None

    @property
    def exit_code(self) -> int:
        """0, or the exit code of this failure."""
        if self.verdict is not Verdict.FAILED:
            return 0
        return self.part.exit_code if self.error_code is None else self.error_code
