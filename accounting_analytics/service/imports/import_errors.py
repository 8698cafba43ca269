"""What is wrong with a file of books, gathered so that one message names several places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import ImportRefusedError

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = 5


class Refusals:
    """Reasons to refuse a file; the first few are named, the others counted.

    Parameters
    ----------
    path : Path
        The file, named in the message.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown: list[str] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, place: str, rule: str) -> None:
        """Note one reason, with the line it was found on (empty: the file as a whole)."""
        self._count += 1
        if len(self._shown) < _SHOWN:
            self._shown.append(f"{place}: {rule}" if place else rule)

    def refuse(self, rule: str, place: str = "") -> ImportRefusedError:
        """Return the error for a file that cannot be read any further."""
        self.add(place, rule)
        return self.error()

    def error(self) -> ImportRefusedError:
        """Return the error that names what was gathered."""
        more = self._count - len(self._shown)
        reasons = "; ".join(self._shown) + (f"; and {more} more" if more else "")
        return ImportRefusedError(f"{self._path.name}: nothing was imported: {reasons}")

    def raise_if_any(self) -> None:
        """Raise the error if anything was gathered."""
        if self._count:
            raise self.error()
