"""The star schema as Parquet files: one file a table, or one a month of it; months can be replaced one by one."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.control_totals import control_totals
from accounting_analytics.exports.manifest import (
    MANIFEST,
    ExportedFile,
    ExportedMonth,
    Manifest,
    file_sha256,
    require_files_of,
)
from accounting_analytics.exports.star_schema.exported_books import name_of_month
from accounting_analytics.exports.star_schema.merged_months import (
    days_not_exported,
    gaps_between_months,
    merge_dimensions,
    require_whole_months,
)
from accounting_analytics.exports.star_schema.tables import (
    DIM_LEDGER,
    DIM_LOAD,
    FACT_LINE_ENTRY,
    FACT_PERIOD_BALANCE,
    STAR_SCHEMA,
    TABLES,
)
from accounting_analytics.messages import join_ids, shorten
from accounting_analytics.periods import Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from accounting_analytics.exports.star_schema.build import StarSchema
    from accounting_analytics.exports.star_schema.tables import StarTable

SUFFIX = ".parquet"
_FIXED_BY_FIRST_EXPORT = ("time_zone", "scale", "currency", "fiscal_year_start_month")


class Part(NamedTuple):
    """The rows of one file.

    Attributes
    ----------
    table : StarTable
        The table that the rows belong to.
    month : str or None
        Their month; None if the table is not divided by month.
    rows : pyarrow.Table
        The rows, without the column ``month`` if it is in the path.
    """

    table: StarTable
    month: str | None
    rows: pa.Table

    @property
    def name(self) -> str:
        """Path of the file in its folder: ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
        file = f"{self.table.name}{SUFFIX}"
        return file if self.month is None else f"{self.table.name}/month={self.month}/{file}"


def write_dataset(
    folder: Path,
    star: StarSchema,
    manifest: Manifest,
    previous: Manifest | None = None,
    *,
    kept: Sequence[ExportedFile] = (),
) -> Manifest:
    """Write the files of tables and, last, the manifest; a file that is the same as before is linked, not copied.

    A file of the current version that was changed or removed since is written again.

    Parameters
    ----------
    folder : Path
        An empty folder.
    star : StarSchema
        Its facts are written month by month; a month without rows gets files too.
    manifest : Manifest
        What the files contain; the list of files is added.
    previous : Manifest, optional
        The current version.
    kept : sequence of ExportedFile
        Files of the current version that stay as they are.

    Raises
    ------
    FrameError
        An amount of the report, or a sum, has more than 18 digits.
    OSError
        A file cannot be written.
    """
    known = {file.name: file for file in previous.files} if previous else {}
    loads = {row["month"]: row for row in star.dimensions[DIM_LOAD.name].to_pylist()}
    files = [_write_part(folder, part, _file_metadata(part, manifest, loads)) for part in _parts(star)]
    if previous:
        same = [file for file in files if known.get(file.name) == file and file.is_intact(previous.folder)]
        for file in (*same, *kept):
            _link(previous.folder / file.name, folder / file.name)
    complete = replace(manifest, files=tuple(sorted([*files, *kept], key=lambda file: file.name)))
    text = complete.to_json()
    replace_file(folder / MANIFEST, lambda file: file.write(text.encode()), remove_leftovers=False)
    return complete


def replace_months(
    folder: Path,
    star: StarSchema,
    manifest: Manifest,
    previous: Manifest,
) -> Manifest:
    """Write the files of the months in `star`, and link those of all other months of the current version.

    Raises
    ------
    InputError
        The current version has another time zone, scale or currency, more days of a month, line entries of a ledger
        that was not discovered now, or a damaged file.
    OSError
        A file cannot be written.
    """
    require_same_settings(previous, **{name: getattr(manifest, name) for name in _FIXED_BY_FIRST_EXPORT})
    old = {table.name: read_table(previous, table) for table in STAR_SCHEMA if not table.is_partitioned}
    require_whole_months(old[DIM_LOAD.name], star.books.period)
    months = set(star.dimensions[DIM_LOAD.name]["month"].to_pylist())
    kept = _files_of_other_months(previous, months)
    _require_same_ledgers(previous, set(star.books.ledgers["id"]), months)
    merged = merge_dimensions(old, star.dimensions, manifest.fiscal_year_start_month)
    loads, ledgers = merged[DIM_LOAD.name], merged[DIM_LEDGER.name]
    names = dict(zip(ledgers["ledger_id"].to_pylist(), ledgers["name"].to_pylist(), strict=True))
    balances = read_table(replace(previous, files=tuple(kept)), FACT_PERIOD_BALANCE)
    new_balances = star.balances.monthly.drop_columns("month")
    gaps = gaps_between_months(pa.concat_tables([balances, new_balances]), names)
    whole = replace(
        manifest,
        start_date=str(pc.min(loads["start_date"])),
        end_date=str(pc.max(loads["end_date"])),
        partial=pc.any(loads["is_partial"]).as_py(),
        verdict=_verdict_of_months(loads),
        notes=(*_notes_of_months(loads), *gaps, *days_not_exported(loads)),
        months=tuple(
            ExportedMonth.of(load["month"], load["read_at_utc"], load["proven_at_utc"]) for load in loads.to_pylist()
        ),
    )
    return write_dataset(folder, star._replace(dimensions=merged), whole, previous, kept=kept)


def require_same_settings(previous: Manifest, **settings: object) -> None:
    """Refuse settings other than those of the export whose months are to be replaced.

    Raises
    ------
    InputError
        A setting differs; the message has both.
    """
    for name, value in settings.items():
        before = getattr(previous, name)
        if before != value:
            msg = (
                f"the export in {previous.folder.parent.parent} has {name} {before!r}, not {value!r}; months of both "
                "cannot be in one export; nothing was written"
            )
            raise InputError(msg)


def keep_settings(previous: Manifest, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the export whose months are to be replaced; one that is given must be the same.

    Raises
    ------
    InputError
        A setting differs.
    """
    require_same_settings(previous, **{name: value for name, value in settings.items() if value is not None})
    return {name: getattr(previous, name) for name in settings}


def extend_to_changes(previous: Manifest, period: Period, instants: Iterable[dt.datetime]) -> tuple[Period, list[str]]:
    """Extend a period to all exported months with changed entries; return it and these months.

    Months between them are in the period too, because the period of a report has no gaps.

    Raises
    ------
    InputError
        The months of the export cannot be read.
    """
    tz = zone(previous.time_zone)
    changed = {local_date(instant, tz).isoformat()[:7] for instant in instants}
    loads = [row for row in read_table(previous, DIM_LOAD).to_pylist() if row["month"] in changed]
    first = min([period.start_date, *(row["start_date"] for row in loads)])
    last = max([period.end_date, *(row["end_date"] for row in loads)])
    return Period(first, last, period.time_zone), sorted(row["month"] for row in loads)


def period_with(previous: Manifest, period: Period) -> Period:
    """Days of an export after the months of a period were replaced.

    Raises
    ------
    InputError
        The period has another time zone, or fewer days of a month than are exported; or the export is of another
        format, or damaged.
    """
    require_files_of(previous, SUFFIX)
    require_same_settings(previous, time_zone=period.time_zone)
    require_whole_months(read_table(previous, DIM_LOAD), period)
    _files_of_other_months(previous, set(map(name_of_month, period.months())))
    exported = Period(previous.start_date, previous.end_date, previous.time_zone)
    first, last = min(exported.start_date, period.start_date), max(exported.end_date, period.end_date)
    return Period(first, last, period.time_zone)


def read_table(manifest: Manifest, table: StarTable) -> pa.Table:
    """Rows of a table of an export, without the column ``month`` if it is in the paths.

    Raises
    ------
    InputError
        A file is absent or damaged.
    """
    schema = table.schema(manifest.scale)
    if table.is_partitioned:
        schema = schema.remove(schema.get_field_index("month"))
    files = [file for file in manifest.files if file.table == table.name]
    try:
        read = [pq.ParquetFile(manifest.folder / file.name).read().cast(schema) for file in files]
    except (OSError, ValueError, pa.ArrowException) as error:
        msg = (
            f"{table.name} of the export in {manifest.folder} cannot be read ({shorten(str(error))}); verify-export "
            "names what is damaged; export all months again, without replacing single ones; nothing was written"
        )
        raise InputError(msg) from error
    return pa.concat_tables(read) if read else schema.empty_table()


def _parts(star: StarSchema) -> Iterator[Part]:
    """Divide the tables into the rows of files, those of a month after those of the month before."""
    for month, facts in star.facts_by_month():
        for name, rows in facts.items():
            yield Part(TABLES[name], month, rows.drop_columns("month"))
    for name, rows in star.dimensions.items():
        table = TABLES[name]
        yield Part(table, None, rows.sort_by([(column, "ascending") for column in table.key]))


def _write_part(folder: Path, part: Part, metadata: dict[str, str]) -> ExportedFile:
    path = folder / part.name
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, partial(_write_parquet, part.rows, metadata), remove_leftovers=False)
    return ExportedFile.of_rows(part.name, part.table.name, part.rows, file_sha256(path), month=part.month)


def _write_parquet(rows: pa.Table, metadata: dict[str, str], file: BinaryIO) -> None:
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression="zstd",
        compression_level=1,
        store_schema=False,  # readers other than Arrow do not know it
        store_decimal_as_integer=True,
    ) as writer:
        writer.write_table(rows.combine_chunks())  # the writer ends pages where chunks end
        writer.add_key_value_metadata(metadata)


def _file_metadata(part: Part, manifest: Manifest, loads: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Describe the rows of a file, as key-value metadata of Parquet; those of a month do not depend on other months."""
    whole = {"start_date": manifest.start_date, "end_date": manifest.end_date, "verdict": manifest.verdict,
             "is_partial": manifest.partial}  # fmt: skip
    load = whole if part.month is None else loads[part.month]
    totals = {f"sum.{name}": text for name, text in control_totals(part.rows).items()}
    return {
        "table": part.table.name,
        "grain": part.table.grain,
        "key": ", ".join(part.table.key),
        "period": f"{load['start_date']} to {load['end_date']}",
        "time_zone": manifest.time_zone,
        "scale": str(manifest.scale),
        "currency": manifest.currency or "",
        "verdict": str(load["verdict"]),
        "partial": str(load["is_partial"]).lower(),
        **totals,
    }


def _verdict_of_months(loads: pa.Table) -> str:
    """Verdict of all months if it is the same, else each one with the first month that has it."""
    first: dict[str, str] = {}
    for load in loads.to_pylist():
        first.setdefault(load["verdict"], load["month"])
    if len(first) == 1:
        return next(iter(first))
    return " ".join(f"From {month}: {verdict}" for verdict, month in first.items())


def _notes_of_months(loads: pa.Table) -> Iterator[str]:
    """Yield the notes of the months, each with its months unless all have it."""
    months: dict[str, list[str]] = {}
    for load in loads.to_pylist():
        months.setdefault(load["notes"] or "", []).append(load["month"])
    for note, noted in months.items():
        if note:
            yield note if len(noted) == loads.num_rows else f"{join_ids(noted)}: {note}"


def _link(existing: Path, path: Path) -> None:
    """Make `path` a second name of an existing file; a copy where the file system has no links."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        os.link(existing, path)
    except OSError:
        shutil.copy2(existing, path)


def _files_of_other_months(previous: Manifest, months: Collection[str]) -> list[ExportedFile]:
    """Files of the months that are not replaced; refuse damaged ones, which the next version would have too."""
    files = [file for file in previous.files if file.month is not None and file.month not in months]
    damaged = [file for file in files if not file.is_intact(previous.folder)]
    if damaged:
        theirs = join_ids({str(file.month) for file in damaged})
        msg = (
            f"{len(damaged)} file(s) of the export in {previous.folder} are damaged or absent: "
            f"{join_ids(file.name for file in damaged)}; export also {theirs}, or all "
            "months without replacing single ones; nothing was written"
        )
        raise InputError(msg)
    return files


def _require_same_ledgers(previous: Manifest, discovered: Collection[str], months: set[str]) -> None:
    """Refuse months without the lines of a ledger that has some in the current version."""
    files = tuple(file for file in previous.files if file.month in months)
    used = read_table(replace(previous, files=files), FACT_LINE_ENTRY)["ledger_id"]
    absent = set(used.to_pylist()) - set(discovered)
    if absent:
        msg = (
            f"the months to replace have line entries of {len(absent)} ledger(s) that were not discovered now: "
            f"{join_ids(absent)}; discover the ledgers from {previous.start_date} to {previous.end_date} and load "
            "their line entries; nothing was written"
        )
        raise InputError(msg)
