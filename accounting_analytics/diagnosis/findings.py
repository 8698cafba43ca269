"""Findings of the doctor, for people and for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.errors import AccountingAnalyticsError, BooksError, ConfigurationError, ServiceError
from accounting_analytics.core.messages import count_of, fit_terminal, printable
from accounting_analytics.core.periods import period_label
from accounting_analytics.core.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accounting_analytics.core.periods import Period

_PRECEDENCE = (ConfigurationError.exit_code, ServiceError.exit_code, BooksError.exit_code)
"""Order in which exit codes apply: causes are before their effects."""
_READ_MESSAGE = "read the message, then run the doctor again"
_COLUMNS = ["part", "check", "verdict", "finding", "next step"]
_MIN_WIDTH = 60


class Verdict(StrEnum):
    """Result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


class Part(StrEnum):
    """Subject of a check, which is at fault if the check fails."""

    MACHINE = "This machine"
    SERVICE = "The service"
    BOOKS = "The books"


_EXIT_CODES = dict(zip(Part, _PRECEDENCE, strict=True))


class NotCheckedError(Exception):
    """A check lacks what it needs. The message begins with "because"."""


class Finding(NamedTuple):
    """Result of one check, with advice.

    Attributes
    ----------
    verdict : Verdict
        Result of the check.
    message : str
        Meaning of the result; the reason if nothing was checked.
    next_step : str
        Advice; empty if there is nothing to do.
    error_code : int or None
        Exit code of the error that ended the check, if one did.
    part : Part
        Subject of the check.
    check : str
        Name of the check; `run_check` fills in both.
    """

    verdict: Verdict
    message: str
    next_step: str = ""
    error_code: int | None = None
    part: Part = Part.BOOKS
    check: str = ""

    @property
    def exit_code(self) -> int:
        """0, or the exit code of a failed check."""
        if self.verdict is not Verdict.FAILED:
            return 0
        return _EXIT_CODES[self.part] if self.error_code is None else self.error_code


def passed(message: str) -> Finding:
    """Return the finding of a check that passed."""
    return Finding(Verdict.OK, message)


def warning(message: str, next_step: str) -> Finding:
    """Return the finding of a check that passed with a reservation."""
    return Finding(Verdict.WARNING, message, next_step)


def failed(message: str, next_step: str, error_code: int | None = None) -> Finding:
    """Return the finding of a failed check, with the error's exit code."""
    return Finding(Verdict.FAILED, message, next_step, error_code)


def run_check(part: Part, name: str, check: Callable[..., Finding], *arguments: Any) -> Finding:  # noqa: ANN401
    """Run a check, and return its finding, also after an error."""
    try:
        finding = check(*arguments)
    except NotCheckedError as reason:
        finding = Finding(Verdict.NOT_CHECKED, str(reason))
    except AccountingAnalyticsError as error:
        finding = failed(str(error), _READ_MESSAGE, error.exit_code)
    return finding._replace(part=part, check=name)


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """Outcome of :func:`~accounting_analytics.doctor`.

    Parameters
    ----------
    subject : str
        Service and instance.
    period : Period or None
        Days of the books that were checked; None if no books were checked.
    findings : tuple of Finding
        One for each check, in order.
    """

    subject: str
    period: Period | None
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Findings of the checks that failed."""
        return tuple(finding for finding in self.findings if finding.verdict is Verdict.FAILED)

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if nothing failed, else 2 (configuration), 4 (service) or 3 (books), the first that applies."""
        codes = {finding.exit_code for finding in self.failed}
        return next((code for code in _PRECEDENCE if code in codes), max(codes, default=0))

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each check: part, check, verdict, finding, next step."""
        rows = [
            (
                str(finding.part),
                finding.check,
                str(finding.verdict),
                printable(finding.message),
                printable(finding.next_step),
            )
            for finding in self.findings
        ]
        return pd.DataFrame(rows, columns=_COLUMNS, dtype="str")

    def __repr__(self) -> str:
        failed = [f"- {finding.check}: {finding.message}" for finding in self.failed]
        return fit_terminal("\n".join(map(printable, [self.summary(), self.subject, *failed])))

    def summary(self) -> str:
        """Summarize the findings in one line of text."""
        counts = Counter(finding.verdict for finding in self.findings)
        results = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        if not self.failed:
            return f"Nothing failed: {results}."
        failed = ", ".join(finding.check for finding in self.failed)
        return f"{count_of(len(self.failed), 'check')} failed: {failed} ({results})."

    def explain(self, width: int = 80) -> str:
        """Describe each check with verdict, meaning and advice, as plain text."""
        return "\n".join(self._lines(max(width, _MIN_WIDTH)))

    def _parts(self) -> Iterator[ResultPart]:
        """Show the subject and the checked days.

        HTML also has a row for each check.
        """
        yield ResultPart([self.subject, *([] if self.period is None else [f"Books of {period_label(self.period)}"])])
        yield ResultPart(table=self.frame, max_rows=None)

    def _content(self) -> dict[str, Any]:
        days = dict.fromkeys(("start_date", "end_date", "time_zone"))
        return {
            "exit_code": self.exit_code,
            "subject": self.subject,
            **(days if self.period is None else asdict(self.period)),
            "findings": self.frame,
        }

    def _lines(self, width: int) -> Iterator[str]:
        yield from textwrap.wrap(printable(self.subject), width)
        if self.period is not None:
            yield f"Books of {period_label(self.period)}"
        verdicts = max(map(len, Verdict))
        checks = max((len(finding.check) for finding in self.findings), default=0)
        indent = " " * (verdicts + checks + 4)
        printed_steps: set[str] = set()
        for part, findings in groupby(self.findings, key=lambda finding: finding.part):
            yield ""
            yield str(part)
            for finding in findings:
                head = f"{finding.verdict:{verdicts}}  {finding.check:{checks}}  "
                yield from _wrap(finding.message, width, head, indent)
                if finding.next_step not in printed_steps:  # several checks often fail for the same reason
                    printed_steps.add(finding.next_step)
                    yield from _wrap(finding.next_step, width, f"{indent}-> ", f"{indent}   ")
        yield ""
        yield from textwrap.wrap(self.summary(), width)


def _wrap(text: str, width: int, head: str, indent: str) -> list[str]:
    """Wrap a text after a head. Further text lines are indented."""
    return textwrap.wrap(printable(text), width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)
