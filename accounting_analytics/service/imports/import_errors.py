"""Errors in a file of books, collected so that one message names several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import ImportRefusedError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_NAMED = 5


class ImportErrors:
    """Collects the errors in a file; the first few are named in the message, the others counted.

    Parameters
    ----------
    path : Path
        The file, named in the message.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._named: list[str] = []
        self._count = 0

    def add(self, location: str, problem: str) -> None:
        """Add a problem and the line it was found on (empty: the whole file)."""
        self._count += 1
        if len(self._named) < _MAX_NAMED:
            self._named.append(f"{location}: {problem}" if location else problem)

    def fatal(self, problem: str, location: str = "") -> ImportRefusedError:
        """Return the exception for a file that cannot be read any further."""
        self.add(location, problem)
        return self.to_exception()

    def to_exception(self) -> ImportRefusedError:
        """Return the exception that names the collected problems."""
        more = self._count - len(self._named)
        problems = "; ".join(self._named) + (f"; and {more} more" if more else "")
        return ImportRefusedError(f"{self._path.name}: nothing was imported: {problems}")

    def raise_if_any(self) -> None:
        """Raise the exception if there is a problem."""
        if self._count:
            raise self.to_exception()
