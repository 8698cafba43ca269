"""The manifest of an export, and the check of its files against it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.duckdb_settings import WITHOUT_EXTENSIONS
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, shorten
from accounting_analytics.core.periods import Period, period_label
from accounting_analytics.core.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CURRENT = "current"
MANIFEST = "manifest.json"
_FORMAT = 5


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export.

    Parameters
    ----------
    name : str
        Path in the folder of the version, with ``/``.
    table : str
        Name of the table.
    rows : int
        Number of rows.
    sums : dict of str to str
        Exact sum of each amount column.
    sha256 : str
        Digest of the file.
    """

    name: str
    table: str
    rows: int
    sums: dict[str, str]
    sha256: str


@dataclass(frozen=True, repr=False)
class Manifest(Result):
    """The content of an export. ``manifest.json`` in the folder has the same fields.

    Parameters
    ----------
    folder : Path
        Where the export is.
    start_date, end_date, time_zone : str
        The exported days, and the time zone of every local date.
    scale : int
        Fraction digits of the amounts.
    company, currency : str or None
        Names of the company and the currency, if they were given.
    fiscal_year_start_month : int
        First month of the fiscal year.
    partial : bool
        Whether lines of the known ledgers are known to be missing.
    verdict : str
        How the cash flow report and the line entries agree; ``dim_load`` has the verdict of each month.
    known_ledgers : str
        Which ledgers are known: the service has no list of them.
    notes : tuple of str
        Remarks for the reader.
    local_books : str or None
        Service and instance of the local books that were exported.
    books_version : int or None
        Their version.
    files : tuple of ExportedFile
        All files but the manifest.
    """

    folder: Path
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    company: str | None
    currency: str | None
    fiscal_year_start_month: int
    partial: bool
    verdict: str
    known_ledgers: str
    notes: tuple[str, ...] = ()
    local_books: str | None = None
    books_version: int | None = None
    files: tuple[ExportedFile, ...] = ()

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
            if content.pop("format") != _FORMAT:
                raise InputError(f"{path} was written by another version of this package; export to a new folder")
            files, notes = (ExportedFile(**file) for file in content.pop("files")), content.pop("notes")
            return cls(folder=folder, files=tuple(files), notes=tuple(notes), **content)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}; name the folder of an export") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{path} is not the manifest of an export, or is damaged; export again to a new folder"
            ) from error

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
        """One line of text: where the export is, what it contains, and how it was proven."""
        prefix = "PARTIAL: " if self.partial else ""
        names = {file.name for file in self.files}
        location = self.folder / names.pop() if len(names) == 1 else self.folder
        days = period_label(Period(self.start_date, self.end_date, self.time_zone))
        content = f"{sum(self.tables.values()):,} rows in {len(self.tables)} tables, {days}"
        return f"{prefix}Export in {location}: {content}. {self.verdict} {self.known_ledgers}"

    def _parts(self) -> Iterator[ResultPart]:
        """Show the number of rows of each table."""
        lines = [f"- {table}: {rows:,} rows" for table, rows in self.tables.items()]
        yield ResultPart(lines, pd.DataFrame(list(self.tables.items()), columns=["table", "rows"]))

    def _content(self) -> dict[str, Any]:
        """Return the content of ``manifest.json``."""
        content: dict[str, Any] = {"format": _FORMAT, **asdict(self)}
        del content["folder"]
        return content


def totals(rows: duckdb.DuckDBPyRelation) -> tuple[int, dict[str, str]]:
    """Count rows, and sum each column of amounts exactly, as text."""
    amounts = [name for name, dtype in zip(rows.columns, rows.dtypes, strict=True) if dtype.id == "decimal"]
    sums = [f"coalesce(sum({name}), 0)::varchar" for name in amounts]
    count, *texts = rows.aggregate(", ".join(["count(*)", *sums])).fetchall()[0]
    return count, dict(zip(amounts, texts, strict=True))


def file_sha256(path: Path) -> str:
    """Calculate the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ExportDifference(NamedTuple):
    """A part of an export that is not as the manifest states.

    Attributes
    ----------
    file : str
        Path of the file in the version.
    check : str
        What was compared.
    expected, found : str
        What it should be, and what it is.
    """

    file: str
    check: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.file}: {self.check}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, repr=False)
class ExportVerification(Result):
    """Result of the verification of an export.

    Parameters
    ----------
    folder : Path
        The verified version.
    files, rows : int
        How many the manifest lists.
    differences : tuple of ExportDifference
        Everything that differs.
    """

    folder: Path
    files: int
    rows: int
    differences: tuple[ExportDifference, ...]

    @property
    def verified(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    @property
    def frame(self) -> pd.DataFrame:
        """The differences: file, check, expected, found."""
        return pd.DataFrame(self.differences, columns=list(ExportDifference._fields), dtype="object")

    def summary(self) -> str:
        """One line of text: whether the export is as it was written."""
        counts = f"{self.files:,} files with {self.rows:,} rows"
        if self.verified:
            return f"Verified: {counts} in {self.folder} have the rows, sums and digests of the manifest."
        found = count_of(len(self.differences), "difference")
        return f"NOT VERIFIED: {found} in {self.folder} ({counts} in the manifest)."

    def _parts(self) -> Iterator[ResultPart]:
        """Show every difference."""
        listed = [f"- {difference}" for difference in self.differences]
        checked = "Checked: rows, sums and sha256 of every file, and that there is no other file."
        yield ResultPart(listed or [checked], None if self.verified else self.frame)

    def _content(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "verified": self.verified,
            "files": self.files,
            "rows": self.rows,
            "differences": self.frame,
        }


def verify_export(folder: str | Path) -> ExportVerification:
    """Compare an export with its manifest.

    Rows, exact sums and digests of every file are computed again. Files that are missing or not listed are differences
    too.

    Parameters
    ----------
    folder : path
        Folder of an export, whose current version is verified, or one version of it.

    Returns
    -------
    ExportVerification
        The differences, each with its file.

    Raises
    ------
    InputError
        The folder has no manifest of an export, it is damaged, or the export is not of Parquet files.
    """
    path = to_path(folder, "folder")
    if path.is_file():
        raise InputError(
            f"{path} is a file; name the folder of a Parquet export, which is the only format that is verified"
        )
    version = path / CURRENT if (path / CURRENT).is_dir() else path
    manifest = Manifest.load(version.resolve())  # resolved once: a later export does not mix in
    other = next((file.name for file in manifest.files if not file.name.endswith(".parquet")), None)
    if other is not None:
        raise InputError(
            f"{manifest.folder} has files of another format ({other}); only Parquet exports are verified; other "
            f"formats have the sha256 of each file in {MANIFEST}"
        )
    listed = {MANIFEST, *(file.name for file in manifest.files)}
    files = [path for path in sorted(manifest.folder.rglob("*")) if not path.is_dir()]
    found = [path.relative_to(manifest.folder).as_posix() for path in files]
    unlisted = ("file", "no such file", "a file that the manifest does not list")
    differences = [ExportDifference(name, *unlisted) for name in found if name not in listed]
    with duckdb.connect(config=WITHOUT_EXTENSIONS) as database:
        for file in manifest.files:
            differences += _differences(database, manifest.folder / file.name, file)
    rows = sum(file.rows for file in manifest.files)
    return ExportVerification(manifest.folder, len(manifest.files), rows, tuple(differences))


def _differences(database: duckdb.DuckDBPyConnection, path: Path, file: ExportedFile) -> Iterator[ExportDifference]:
    """Compare a file with what the manifest states about it."""
    try:
        digest = file_sha256(path)
    except OSError as error:
        yield ExportDifference(file.name, "file", "a file", error.strerror or str(error))
        return
    if digest != file.sha256:
        yield ExportDifference(file.name, "sha256", file.sha256, digest)
    try:
        rows, sums = totals(database.from_arrow(pq.read_table(path, partitioning=None)))
    except (pa.ArrowException, OSError, ValueError) as error:
        yield ExportDifference(file.name, "content", "a Parquet file", shorten(f"not readable: {error}", limit=200))
        return
    if rows != file.rows:
        yield ExportDifference(file.name, "rows", f"{file.rows:,}", f"{rows:,}")
    for name in sorted(sums.keys() | file.sums.keys()):
        expected, found = file.sums.get(name, "none"), sums.get(name, "none")
        if expected != found:
            yield ExportDifference(file.name, f"sum of {name}", expected, found)
