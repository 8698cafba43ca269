"""Verification of an export: its files against its manifest, and its tables against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.arguments import to_path
from accounting_analytics.errors import InputError
from accounting_analytics.exports.manifest import MANIFEST, Manifest, control_totals, file_sha256
from accounting_analytics.exports.star_schema.table_definitions import (
    DIM_LOAD,
    FACT_LINE_ENTRY,
    KEYS,
    STAR_SCHEMA,
    TABLES,
)
from accounting_analytics.exports.version_folder import CURRENT
from accounting_analytics.messages import count_of, join_ids, shorten
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.exports.manifest import ExportedFile
    from accounting_analytics.exports.star_schema.table_definitions import StarTable

_CHECKED = "Checked: every file, its columns, rows, sums and sha256; keys, foreign keys, and the months of dim_load."


class ExportDifference(NamedTuple):
    """Something that is not as the manifest or another table says.

    Attributes
    ----------
    file : str
        Path of the file in the version, or the name of a table.
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
        """Whether nothing differs."""
        return not self.differences

    @property
    def frame(self) -> pd.DataFrame:
        """The differences: file, check, expected, found."""
        return pd.DataFrame(self.differences, columns=list(ExportDifference._fields), dtype="object")

    def summary(self) -> str:
        """One line: whether the export is as it was written."""
        counts = f"{self.files:,} files with {self.rows:,} rows"
        if self.verified:
            return f"Verified: {counts} in {self.folder} have the rows, sums, digests and keys of the manifest."
        found = count_of(len(self.differences), "difference")
        return f"NOT VERIFIED: {found} in {self.folder} ({counts} in the manifest)."

    def _parts(self) -> Iterator[ResultPart]:
        """Show every difference."""
        listed = [f"- {difference}" for difference in self.differences]
        yield ResultPart(listed or [_CHECKED], None if self.verified else self.frame)

    def _content(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "verified": self.verified,
            "files": self.files,
            "rows": self.rows,
            "differences": self.frame,
        }


def verify_export(folder: str | Path) -> ExportVerification:
    """Compare an export with its manifest, and its tables with each other.

    Rows, exact sums and digests of every file are computed again. Files that are missing or not listed, keys that occur
    twice, foreign keys without a row, and months without a row in ``dim_load`` are differences too.

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
    manifest = Manifest.load(version.resolve())  # once: an export that ends meanwhile does not mix two versions
    other = next((file.name for file in manifest.files if not file.name.endswith(".parquet")), None)
    if other is not None:
        raise InputError(
            f"{manifest.folder} has files of another format ({other}); only Parquet exports are verified; other "
            f"formats have the sha256 of each file in {MANIFEST}"
        )
    readable: list[ExportedFile] = []
    differences = [*_unlisted_files(manifest), *_absent_tables(manifest)]
    for file in manifest.files:
        of_file = list(_differences_of_file(manifest, file))
        differences += of_file
        if not {difference.check for difference in of_file} & {"file", "content", "table", "columns"}:
            readable.append(file)
    differences += _ReadTables(manifest, readable).differences()
    return ExportVerification(
        manifest.folder, len(manifest.files), sum(file.rows for file in manifest.files), tuple(differences)
    )


def _unlisted_files(manifest: Manifest) -> Iterator[ExportDifference]:
    listed = {MANIFEST, *(file.name for file in manifest.files)}
    for path in sorted(manifest.folder.rglob("*")):
        name = path.relative_to(manifest.folder).as_posix()
        if not path.is_dir() and name not in listed:
            yield ExportDifference(name, "file", "no such file", "a file that the manifest does not list")


def _absent_tables(manifest: Manifest) -> Iterator[ExportDifference]:
    for name in TABLES.keys() - {file.table for file in manifest.files}:
        yield ExportDifference(name, "table", "a file of it in the manifest", "none")


def _differences_of_file(manifest: Manifest, file: ExportedFile) -> Iterator[ExportDifference]:
    """Compare a file with the manifest."""
    path = manifest.folder / file.name
    if file.table not in TABLES:
        yield ExportDifference(file.name, "table", "a table of the star schema", shorten(file.table))
        return
    try:
        digest = file_sha256(path)
    except OSError as error:
        yield ExportDifference(file.name, "file", "a file", error.strerror or str(error))
        return
    if digest != file.sha256:
        yield ExportDifference(file.name, "sha256", file.sha256, digest)
    try:
        with pq.ParquetFile(path) as parquet:
            yield from _differences_of_content(parquet, file, TABLES[file.table].file_schema(manifest.scale))
    except (pa.ArrowException, OSError, ValueError) as error:
        yield ExportDifference(file.name, "content", "a Parquet file", shorten(f"not readable: {error}", limit=200))


def _differences_of_content(
    parquet: pq.ParquetFile, file: ExportedFile, schema: pa.Schema
) -> Iterator[ExportDifference]:
    found = parquet.schema_arrow
    if _describe(found) != _describe(schema):  # whether a column may have nulls is the writer's choice
        yield ExportDifference(file.name, "columns", _describe(schema), _describe(found))
    rows = parquet.read()  # all columns: damage is found wherever it is
    if rows.num_rows != file.rows:
        yield ExportDifference(file.name, "rows", f"{file.rows:,}", f"{rows.num_rows:,}")
    sums = control_totals(rows)
    for name in sorted(sums.keys() | file.sums.keys()):
        expected, actual = file.sums.get(name, "none"), sums.get(name, "none")
        if expected != actual:
            yield ExportDifference(file.name, f"sum of {name}", expected, actual)


def _describe(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


class _ReadTables:
    """The tables of an export, whose files may not all be `readable` with the columns of their table."""

    def __init__(self, manifest: Manifest, readable: list[ExportedFile]) -> None:
        self._manifest = manifest
        self._readable = {name: [file for file in readable if file.table == name] for name in TABLES}
        self._complete = {
            name
            for name, files in self._readable.items()
            if files and len(files) == sum(file.table == name for file in manifest.files)
        }

    def differences(self) -> Iterator[ExportDifference]:
        """Keys that occur twice, foreign keys without a row, months that ``dim_load`` and the facts do not share."""
        for table in STAR_SCHEMA:
            yield from self._repeated_keys(table)
        for column, target in KEYS.items():
            if column != "month" and target in self._complete:
                yield from self._orphans(column, TABLES[target])
        if DIM_LOAD.name in self._complete:
            yield from self._months()

    def _read(self, file: ExportedFile, columns: tuple[str, ...]) -> pa.Table:
        return pq.ParquetFile(self._manifest.folder / file.name).read(columns=list(columns))

    def _keys(self, table: StarTable) -> pa.Table:
        return pa.concat_tables([self._read(file, table.key) for file in self._readable[table.name]])

    def _repeated_keys(self, table: StarTable) -> Iterator[ExportDifference]:
        if not self._readable[table.name]:
            return
        counts = self._keys(table).group_by(list(table.key)).aggregate([([], "count_all")])
        repeated = counts.filter(pc.greater(counts["count_all"], 1)).select(table.key).to_pylist()
        if repeated:
            keys = join_ids(", ".join(map(str, row.values())) for row in repeated)
            yield ExportDifference(table.name, f"key {', '.join(table.key)}", "one row each", f"more rows of {keys}")

    def _orphans(self, column: str, target: StarTable) -> Iterator[ExportDifference]:
        known = self._keys(target)[column].combine_chunks()
        for table in STAR_SCHEMA:
            if column not in table.references:
                continue
            for file in self._readable[table.name]:
                values = pc.unique(self._read(file, (column,))[column]).drop_null()
                orphans = values.filter(pc.invert(pc.is_in(values, value_set=known))).to_pylist()
                if orphans:
                    yield ExportDifference(
                        file.name, f"foreign key {column}", f"a row in {target.name}", f"none for {join_ids(orphans)}"
                    )

    def _months(self) -> Iterator[ExportDifference]:
        """Compare the months of the files and their lines with ``dim_load``."""
        (load,) = self._readable[DIM_LOAD.name]
        stated = {row["month"]: row["line_entries"] for row in self._read(load, ("month", "line_entries")).to_pylist()}
        for table in STAR_SCHEMA:
            if table.is_partitioned:
                months = {file.month for file in self._manifest.files if file.table == table.name}
                for month in sorted(map(str, months ^ stated.keys())):
                    what = ("a file", "no file") if month in stated else ("a row in dim_load", "none")
                    yield ExportDifference(table.name, f"month {month}", *what)
        for file in self._readable[FACT_LINE_ENTRY.name]:
            lines = stated.get(str(file.month), file.rows)
            if lines != file.rows:
                yield ExportDifference(file.name, "rows by dim_load", f"{lines:,}", f"{file.rows:,}")
