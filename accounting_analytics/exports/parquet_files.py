"""The star schema as Parquet files: one file a table, or one a month of it; months can be replaced one by one."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.books import name_of_month
from accounting_analytics.exports.manifest import (
    ExportedFile,
    ExportedMonth,
    Manifest,
    control_totals,
    current_manifest,
    file_sha256,
    join_verdicts,
    require_files_of,
)
from accounting_analytics.exports.star_schema.build import merged_dimensions
from accounting_analytics.exports.star_schema.table_definitions import (
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
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from accounting_analytics.exports.star_schema.build import StarSchema
    from accounting_analytics.exports.star_schema.table_definitions import StarTable
    from accounting_analytics.exports.version_folder import VersionFolder

SUFFIX = ".parquet"
_FIXED_BY_FIRST_EXPORT = ("local_books", "time_zone", "scale", "currency", "fiscal_year_start_month")


class FileRows(NamedTuple):
    """The rows of one file."""

    table: StarTable
    month: str | None  # None if the table is not divided by month
    rows: pa.Table  # without the column ``month`` if it is in the path

    @property
    def name(self) -> str:
        """Path of the file in its folder: ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
        file = f"{self.table.name}{SUFFIX}"
        return file if self.month is None else f"{self.table.name}/month={self.month}/{file}"


def write_parquet(
    folder: VersionFolder, star: StarSchema, manifest: Manifest, *, replace_months: bool = False
) -> Manifest:
    """Write the tables, or only the months of their facts, as the next version of a folder."""
    with folder.new_version() as version:
        previous = current_manifest(folder, SUFFIX)
        if replace_months and previous:
            return _replace_months(version, star, manifest, previous)
        return _write_files(version, star, manifest, previous)


def _write_files(
    folder: Path,
    star: StarSchema,
    manifest: Manifest,
    previous: Manifest | None = None,
    *,
    kept: Sequence[ExportedFile] = (),
) -> Manifest:
    """Write the files of tables and, last, the manifest; a file that is the same as before is linked, not copied.

    A file of the current version that was changed or removed since is written again.
    """
    known = {file.name: file for file in previous.files} if previous else {}
    loads = {row["month"]: row for row in star.dimensions[DIM_LOAD.name].to_pylist()}
    files = [_write_part(folder, part, manifest, loads) for part in _parts(star)]
    if previous:
        same = [file for file in files if known.get(file.name) == file and file.is_intact(previous.folder)]
        for file in (*same, *kept):
            _link(previous.folder / file.name, folder / file.name)
    changed = {file.month for file in files if file.month and known.get(file.name) != file}
    complete = replace(
        manifest,
        files=tuple(sorted([*files, *kept], key=lambda file: file.name)),
        replaced_months=tuple(sorted(changed)) if previous else None,
    )
    complete.save(folder)
    return complete


def _replace_months(
    folder: Path,
    star: StarSchema,
    manifest: Manifest,
    previous: Manifest,
) -> Manifest:
    """Write the files of the months in `star`, and link those of all other months of the current version."""
    require_same_settings(previous, **{name: getattr(manifest, name) for name in _FIXED_BY_FIRST_EXPORT})
    old = {table.name: read_table(previous, table) for table in STAR_SCHEMA if not table.is_partitioned}
    _require_whole_months(old[DIM_LOAD.name], star.books.period)
    months = set(star.dimensions[DIM_LOAD.name]["month"].to_pylist())
    kept = _files_of_other_months(previous, months)
    _require_same_ledgers(previous, set(star.books.ledgers["id"]), months)
    merged = merged_dimensions(old, star.dimensions, manifest.scale, manifest.fiscal_year_start_month)
    loads, ledgers = merged[DIM_LOAD.name], merged[DIM_LEDGER.name]
    names = dict(zip(ledgers["ledger_id"].to_pylist(), ledgers["name"].to_pylist(), strict=True))
    balances = read_table(replace(previous, files=tuple(kept)), FACT_PERIOD_BALANCE)
    new_balances = star.balances[FACT_PERIOD_BALANCE.name].drop_columns("month")
    gaps = _gaps_between_months(pa.concat_tables([balances, new_balances]), names)
    whole = replace(
        manifest,
        start_date=str(pc.min(loads["start_date"])),
        end_date=str(pc.max(loads["end_date"])),
        partial=pc.any(loads["is_partial"]).as_py(),
        verdict=join_verdicts(zip(loads["month"].to_pylist(), loads["verdict"].to_pylist(), strict=True)),
        notes=(*_notes_of_months(loads), *gaps, *_days_not_exported(loads)),
        months=tuple(
            ExportedMonth.of(load["month"], load["read_at_utc"], load["proven_at_utc"]) for load in loads.to_pylist()
        ),
    )
    return _write_files(folder, star._replace(dimensions=merged), whole, previous, kept=kept)


def require_same_settings(previous: Manifest, **settings: object) -> None:
    """Refuse settings other than those of the export whose months are to be replaced."""
    for name, value in settings.items():
        before = getattr(previous, name)
        if before != value:
            raise InputError(
                f"the export in {previous.folder.parent.parent} has {name} {before!r}, not {value!r}; months of both "
                "cannot be in one export; nothing was written"
            )


def keep_settings(previous: Manifest, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the export whose months are to be replaced; one that is given must be the same."""
    require_same_settings(previous, **{name: value for name, value in settings.items() if value is not None})
    return {name: getattr(previous, name) for name in settings}


def extend_to_changes(previous: Manifest, period: Period, instants: Iterable[dt.datetime]) -> tuple[Period, list[str]]:
    """Extend a period to all exported months with changed entries; return it and these months.

    Months between them are in the period too, because the period of a report has no gaps.
    """
    tz = zone(previous.time_zone)
    changed = {local_date(instant, tz).isoformat()[:7] for instant in instants}
    loads = [row for row in read_table(previous, DIM_LOAD).to_pylist() if row["month"] in changed]
    first = min([period.start_date, *(row["start_date"] for row in loads)])
    last = max([period.end_date, *(row["end_date"] for row in loads)])
    return Period(first, last, period.time_zone), sorted(row["month"] for row in loads)


def require_replaceable(previous: Manifest, period: Period) -> None:
    """Refuse, before anything is loaded, a period whose months cannot replace those of an export."""
    require_files_of(previous, SUFFIX)
    require_same_settings(previous, time_zone=period.time_zone)
    _require_whole_months(read_table(previous, DIM_LOAD), period)
    _files_of_other_months(previous, set(map(name_of_month, period.months())))


def read_table(manifest: Manifest, table: StarTable) -> pa.Table:
    """Rows of a table of an export, without the column ``month`` if it is in the paths."""
    schema = table.file_schema(manifest.scale)
    files = [file for file in manifest.files if file.table == table.name]
    try:
        read = [pq.ParquetFile(manifest.folder / file.name).read().cast(schema) for file in files]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{table.name} of the export in {manifest.folder} cannot be read ({shorten(str(error))}); verify-export "
            "names what is damaged; export all months again, without replacing single ones; nothing was written"
        ) from error
    return pa.concat_tables(read) if read else schema.empty_table()


def _parts(star: StarSchema) -> Iterator[FileRows]:
    """Divide the tables into the rows of files, those of a month after those of the month before."""
    for month, facts in star.facts_by_month():
        for name, rows in facts.items():
            yield FileRows(TABLES[name], month, rows.drop_columns("month"))
    for name, rows in star.dimensions.items():
        yield FileRows(TABLES[name], None, rows)


def _write_part(
    folder: Path, part: FileRows, manifest: Manifest, loads: Mapping[str, Mapping[str, Any]]
) -> ExportedFile:
    path = folder / part.name
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = control_totals(part.rows)
    metadata = {**_file_metadata(part, manifest, loads), **{f"sum.{name}": text for name, text in sums.items()}}
    replace_file(path, partial(_write_parquet, part.rows, metadata), remove_leftovers=False)
    return ExportedFile(part.name, part.table.name, part.month, part.rows.num_rows, sums, file_sha256(path))


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


def _file_metadata(part: FileRows, manifest: Manifest, loads: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Describe the rows of a file, as key-value metadata of Parquet; those of a month do not depend on other months."""
    whole = {"start_date": manifest.start_date, "end_date": manifest.end_date, "verdict": manifest.verdict,
             "is_partial": manifest.partial}  # fmt: skip
    load = whole if part.month is None else loads[part.month]
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
    }


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
        raise InputError(
            f"{len(damaged)} file(s) of the export in {previous.folder} are damaged or absent: "
            f"{join_ids(file.name for file in damaged)}; export also {theirs}, or all "
            "months without replacing single ones; nothing was written"
        )
    return files


def _require_same_ledgers(previous: Manifest, discovered: Collection[str], months: set[str]) -> None:
    """Refuse months without the lines of a ledger that has some in the current version."""
    files = tuple(file for file in previous.files if file.month in months)
    used = read_table(replace(previous, files=files), FACT_LINE_ENTRY)["ledger_id"]
    absent = set(used.to_pylist()) - set(discovered)
    if absent:
        raise InputError(
            f"the months to replace have line entries of {len(absent)} ledger(s) that were not discovered now: "
            f"{join_ids(absent)}; discover the ledgers from {previous.start_date} to {previous.end_date} and load "
            "their line entries; nothing was written"
        )


def _require_whole_months(old_loads: pa.Table, period: Period) -> None:
    """Refuse to replace a month by fewer of its days."""
    old = {row["month"]: row for row in old_loads.to_pylist()}
    for month in period.months():
        before = old.get(name_of_month(month))
        if before and (month.start_date > before["start_date"] or month.end_date < before["end_date"]):
            raise InputError(
                f"{before['month']} is exported from {before['start_date']} to {before['end_date']}; replacing it with "
                f"{month.start_date} to {month.end_date} would lose days; export the whole month, nothing was written"
            )


def _gaps_between_months(period_balances: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
    """Describe each account whose balance at the start of a month is not the one at the end of the month before."""
    by_account = period_balances.sort_by([("cash_ledger_id", "ascending"), ("date", "ascending")]).to_pylist()
    for before, after in pairwise(by_account):
        follows = (after["start_date"] - before["date"]).days == 1
        same = before["cash_ledger_id"] == after["cash_ledger_id"]
        if same and follows and before["ending_balance"] != after["starting_balance"]:
            yield (
                f"{names.get(after['cash_ledger_id'], after['cash_ledger_id'])} has {before['ending_balance']:,f} at "
                f"the end of {before['date']} but {after['starting_balance']:,f} at the start of "
                f"{after['start_date']}: the books changed between the two exports; export both months again."
            )


def _days_not_exported(loads: pa.Table) -> Iterator[str]:
    """Describe the days between two exported months that no month of the export has."""
    for before, after in pairwise(loads.to_pylist()):
        first, last = before["end_date"] + dt.timedelta(1), after["start_date"] - dt.timedelta(1)
        if first <= last:
            yield f"{first} to {last} are not exported; the export has days before and after them."
