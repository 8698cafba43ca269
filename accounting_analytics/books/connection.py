"""Connect to the configured service, or to local books: those that are named, or are configured without a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from accounting_analytics import client
from accounting_analytics.books.books import Books
from accounting_analytics.client.settings import load_settings
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.client import LedgerClient


@overload
def connect(profile: str | None = None, *, books: str | Path, **options: Any) -> Books: ...  # noqa: ANN401 (LedgerClient's own)
@overload
def connect(profile: str | None = None, *, books: None = None, **options: Any) -> LedgerClient: ...  # noqa: ANN401
def connect(
    profile: str | None = None,
    *,
    books: str | Path | None = None,
    **options: Any,
) -> LedgerClient | Books:
    """Connect to the configured service, or to local books.

    Parameters
    ----------
    profile : str, optional
        Name of a profile in the configuration file.
    books : path, optional
        Folder of local books, which are then returned in the place of a client: the functions that load take either.
        Without it, and without `options`, the setting ``books`` (``ACCOUNTING_ANALYTICS_BOOKS``) names such a folder
        where no service is configured, or is only in a profile while the environment names the books.
    **options
        Settings by name (``base_url``, ``token``, ``token_file``, ``token_url``, ``client_id``, ``client_secret``,
        ``client_secret_file``, ``instance_id``, ``instance_header``, ``time_zone``, ``requests_per_minute``,
        ``amounts``), which override everything else, and any further option of
        :class:`~accounting_analytics.LedgerClient`.

    Raises
    ------
    ConfigurationError
        A required setting is missing; the message says what to set.
    InputError
        The folder has no local books yet, or options of the service are given with `books`.
    PeriodError
        The configured time zone is unknown.
    """
    if books is None and not options:
        settings = load_settings(profile)
        if settings.names_books():
            books = settings["books"]
    if books is None:
        return client.connect(profile, **options)
    if options:
        raise InputError(f"{min(options)} is an option of the service, which books={str(books)!r} does without")
    return open_synced(books)


def open_synced(folder: str | Path) -> Books:
    """Open the books of a folder that has some."""
    books = Books.open(folder)
    if books.version is None:
        raise InputError(
            f"{folder} has no local books yet; this writes them: accounting-analytics sync --books {folder}"
        )
    return books
