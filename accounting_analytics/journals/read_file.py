"""Readers of a file of books: a journal by its suffix, else a line table."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from accounting_analytics.journals.file_entries import FileEntries, FileErrors, ReadOptions
from accounting_analytics.journals.hledger_and_beancount import (
    BEANCOUNT_SUFFIXES,
    HLEDGER_SUFFIXES,
    read_beancount,
    read_hledger_journal,
)
from accounting_analytics.journals.read_line_table import read_line_table

if TYPE_CHECKING:
    from pathlib import Path

JOURNAL_SUFFIXES = HLEDGER_SUFFIXES | BEANCOUNT_SUFFIXES
"""Suffixes of the names of journals, in lower case."""
_OF_JOURNALS = {
    "commodity": "--commodity",
    "virtual": "--virtual",
    "roots": "--root",
    "use_entry_dates": "--use-entry-dates",
}
"""Options that only journals use."""


def read_books(path: Path, options: ReadOptions = ReadOptions()) -> FileEntries:  # noqa: B008 (immutable)
    """Read and check the accounts and entries of a file, without posting anything."""
    books = FileEntries(path, options)
    books.require_readable()
    suffix = path.suffix.lower()
    if suffix in HLEDGER_SUFFIXES:
        read_hledger_journal(path, books)
    elif suffix in BEANCOUNT_SUFFIXES:
        read_beancount(path, books)
    elif given := [option for name, option in _OF_JOURNALS.items() if getattr(options, name)]:
        books.errors.fail(f"a line table is read without {', '.join(given)}; leave out what it has no use for")
    else:
        read_line_table(path, books)
    books.check()
    return books


def digest_of(path: Path, outcome: str = ReadOptions().outcome) -> str:
    """Return the SHA-256 of a file. Refuse a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        FileErrors(path, outcome).fail(f"it cannot be read ({error.strerror})")
