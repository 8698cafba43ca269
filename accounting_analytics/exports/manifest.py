"""The manifest of an export: its files with rows, sums and digests."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.version_folder import VersionFolder
from accounting_analytics.messages import quote
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MANIFEST = "manifest.json"
MANIFEST_VERSION = 4
_MAX_CURRENCY = 30
_SUM_DIGITS = 38


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export.

    Parameters
    ----------
    name : str
        Path in the folder of the version, with ``/``.
    table : str
        Name of the table.
    month : str or None
        Month of the rows, ``2026-01``; None if the table is not divided by month.
    rows : int
        Number of rows.
    sums : dict of str to str
        Exact sum of each amount column.
    sha256 : str
        Digest of the file.
    """

    name: str
    table: str
    month: str | None
    rows: int
    sums: dict[str, str]
    sha256: str

    @classmethod
    def of_rows(cls, name: str, table: str, rows: pa.Table, sha256: str) -> Self:
        """Describe a file that has these rows, of all months."""
        return cls(name, table, None, rows.num_rows, control_totals(rows), sha256)


@dataclass(frozen=True)
class ExportedMonth:
    """When the books of a month were read.

    Parameters
    ----------
    month : str
        The month, ``2026-01``.
    read_at : str or None
        Instant from which on its line entries were read, in UTC; None if their frame does not state it.
    proven_at : str or None
        When the report that they agree with was read; None if they differ, or the report does not state it.
    """

    month: str
    read_at: str | None
    proven_at: str | None

    @classmethod
    def of(cls, month: str, read_at: dt.datetime | None, proven_at: dt.datetime | None) -> Self:
        """Describe a month with its instants as text."""
        return cls(
            month, *(None if one is None else one.astimezone(dt.UTC).isoformat() for one in (read_at, proven_at))
        )


@dataclass(frozen=True, repr=False)
class Manifest(Result):
    """Content of an export; ``manifest.json`` in the folder has the same fields.

    Parameters
    ----------
    folder : Path
        Where the export is.
    start_date, end_date, time_zone : str
        The exported days, and the time zone of every local date.
    scale : int
        Fraction digits of the amounts.
    currency : str or None
        Name of the currency, if it was given.
    fiscal_year_start_month : int
        First month of the fiscal year.
    partial : bool
        Whether lines of the known ledgers are known to be missing.
    verdict : str
        How the cash flow report and the line entries agree.
    known_ledgers : str
        Which ledgers are known: the service has no list of them.
    files : tuple of ExportedFile
        All files but the manifest.
    notes : tuple of str
        Remarks for the reader.
    months : tuple of ExportedMonth
        When each month was read, and proven by a report.
    local_books : str or None
        Service and instance of the local books that were exported.
    books_version : int or None
        Their version.
    """

    folder: Path
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    currency: str | None
    fiscal_year_start_month: int
    partial: bool
    verdict: str
    known_ledgers: str
    files: tuple[ExportedFile, ...]
    notes: tuple[str, ...] = ()
    months: tuple[ExportedMonth, ...] = ()
    local_books: str | None = None
    books_version: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is not the name of a currency."""
        require_currency(self.currency)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the manifest of a folder.

        Raises
        ------
        InputError
            There is none, or it is damaged or of another version.
        """
        path = folder / MANIFEST
        try:
            content = json.loads(path.read_bytes())
            if content.pop("format") != MANIFEST_VERSION:
                raise InputError(f"{path} was written by another version of this package; export to a new folder")
            files = tuple(ExportedFile(**file) for file in content.pop("files"))
            months = tuple(ExportedMonth(**month) for month in content.pop("months"))
            notes = tuple(content.pop("notes"))
            return cls(folder=folder, files=files, notes=notes, months=months, **content)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}; name the folder of an export") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{path} is not the manifest of an export, or is damaged; export again to a new folder"
            ) from error

    def save(self, folder: Path) -> None:
        """Write the manifest to the folder of a version, after its files."""
        text = self.to_json()
        replace_file(folder / MANIFEST, lambda file: file.write(text.encode()), remove_leftovers=False)

    @property
    def frame(self) -> pd.DataFrame:
        """Table of the files: path, rows, sha256."""
        rows = [(str(self.folder / file.name), file.rows, file.sha256) for file in self.files]
        return pd.DataFrame(rows, columns=["file", "rows", "sha256"])

    @property
    def tables(self) -> dict[str, int]:
        """Number of rows by table."""
        rows: Counter[str] = Counter()
        for file in self.files:
            rows[file.table] += file.rows
        return dict(rows)

    def summary(self) -> str:
        """One line: where the export is, what it contains, and from when on it may be older than the books."""
        prefix = "PARTIAL: " if self.partial else ""
        days = f"{self.start_date} to {self.end_date} ({self.time_zone})"
        rows = sum(file.rows for file in self.files)
        content = f"{rows:,} rows in {len(self.tables)} tables, {days}. {self.verdict} {self.known_ledgers}"
        return f"{prefix}Export in {self._location()}: {content}{self._age()}"

    def _parts(self) -> Iterator[ResultPart]:
        """Show the rows of each table."""
        lines = [f"- {table}: {rows:,} rows" for table, rows in self.tables.items()]
        yield ResultPart(lines, pd.DataFrame(list(self.tables.items()), columns=["table", "rows"]))

    def _content(self) -> dict[str, Any]:
        """Content of ``manifest.json``."""
        content: dict[str, Any] = {"format": MANIFEST_VERSION, **asdict(self)}
        del content["folder"]
        return content

    def _age(self) -> str:
        """When the month was read that was read first; empty where the manifest does not list months."""
        if not self.months:
            return ""
        oldest = min(self.months, key=lambda one: one.read_at or "")
        if oldest.read_at is None:
            return f" When {oldest.month} was read is not known."
        read_at = f"{dt.datetime.fromisoformat(oldest.read_at):%Y-%m-%d %H:%M} UTC"
        if len({one.read_at for one in self.months}) == 1:
            return f" Read at {read_at}."
        unseen = "what" if self.books_version is None else "what no report shows and"
        return f" The month read first is {oldest.month}, at {read_at}; {unseen} was changed since is not in it."

    def _location(self) -> Path:
        """Path of the file, if there is only one; else of the folder."""
        names = {file.name for file in self.files}
        return self.folder / names.pop() if len(names) == 1 else self.folder


def require_currency(currency: object) -> None:
    """Refuse what is not the name of a currency: empty text, text that is not on one line, or long text."""
    is_name = isinstance(currency, str) and currency.strip() and currency.isprintable()
    if currency is not None and not (is_name and len(str(currency)) <= _MAX_CURRENCY):
        raise InputError(
            f"currency is {quote(currency)}; name it in 1 to {_MAX_CURRENCY} printable characters, such as USD, or "
            "omit it; nothing was written"
        )


def join_verdicts(verdicts: Iterable[tuple[str, str]]) -> str:
    """Verdict of all months if it is the same, else each one with the first month that has it."""
    first: dict[str, str] = {}
    for month, verdict in verdicts:
        first.setdefault(verdict, month)
    if len(first) == 1:
        return next(iter(first))
    return " ".join(f"From {month}: {verdict}" for verdict, month in first.items())


def control_totals(rows: pa.Table) -> dict[str, str]:
    """Exact sum of each amount column, as text."""
    totals = {}
    for field in rows.schema:
        if pa.types.is_decimal(field.type):
            # summed with more digits, because sums of 18 digits may have more
            wide = rows[field.name].cast(pa.decimal128(_SUM_DIGITS, field.type.scale))
            totals[field.name] = f"{pc.sum(wide, min_count=0).as_py():f}"
    return totals


def file_sha256(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def export_folder(output: str | Path, suffix: str) -> VersionFolder:
    """Folder that can have an export of files with a suffix."""
    folder = VersionFolder(output)
    current_manifest(folder, suffix)
    return folder


def current_manifest(folder: VersionFolder, suffix: str) -> Manifest | None:
    """Manifest of the current version of a folder; None if it has none."""
    if folder.current is None:
        return None
    manifest = Manifest.load(folder.current)
    require_files_of(manifest, suffix)
    return manifest


def require_files_of(manifest: Manifest, suffix: str) -> None:
    """Refuse to replace an export by one in another format, which its readers could not read."""
    if any(not file.name.endswith(suffix) for file in manifest.files):
        raise InputError(
            f"{manifest.folder.parent.parent} has an export in another format ({manifest.files[0].name}); name another "
            "folder; nothing was written"
        )
