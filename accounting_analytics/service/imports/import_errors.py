"""Problems of a file of books, collected so that all of them can be corrected together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from accounting_analytics.errors import ImportRefusedError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from pathlib import Path

_MAX_NAMED = 5


class Problem(NamedTuple):
    """Why a file cannot be imported: the file, its line, the date and description of the entry, and what is wrong."""

    file: str
    line: str
    date: str
    description: str
    problem: str

    def __str__(self) -> str:
        """Place, problem and entry in one line."""
        entry = " ".join(filter(None, [self.date, quote(self.description) if self.description else ""]))
        return f"{self.line and f'{self.line}: '}{self.problem}{entry and f' ({entry})'}"


class ImportErrors:
    """Collects the problems of a file; the first few are named in the message, the others counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problems: list[Problem] = []
        self.incomplete: set[str] = set()
        """Entries of which a line could not be read, so that their balance cannot be checked."""
        self.lost_lines = False
        """Whether a line could not be read so far that its entry is known."""

    def add(self, location: str, problem: str, *, date: str = "", description: str = "") -> None:
        """Add a problem, the line it was found on (empty: the whole file), and what is known of the entry."""
        self.problems.append(Problem(self._path.name, location, date, description, problem))

    def add_line(
        self, location: str, problem: str, entry_id: str | None, *, date: str = "", description: str = ""
    ) -> None:
        """Add the problem of a line that cannot be read, of an entry that is then not checked any further."""
        if entry_id is None:
            self.lost_lines = True
        else:
            self.incomplete.add(entry_id)
        self.add(location, problem, date=date, description=description)

    def fail(self, problem: str, location: str = "") -> NoReturn:
        """Refuse a file that cannot be read any further."""
        self.add(location, problem)
        raise self._exception()

    def raise_if_any(self) -> None:
        """Raise the exception if there is a problem."""
        if self.problems:
            raise self._exception()

    def _exception(self) -> ImportRefusedError:
        named = "; ".join(map(str, self.problems[:_MAX_NAMED]))
        hidden = len(self.problems) - _MAX_NAMED
        more = f"; and {hidden} more (--dry-run names each)" if hidden > 0 else ""
        return ImportRefusedError(
            f"{self._path.name}: nothing was imported: {named}{more}", problems=tuple(self.problems)
        )
