"""What all exports share: flat tables of the books, their manifest, and the replacement of the whole folder.

Every column has a type that every reader knows: plain strings, whole numbers, booleans, and for each instant an int64
microsecond UTC timestamp beside the local ``date32`` (``*_local_date``). Amounts are whole minor units (cents at scale
2) in int64, in columns named ``*_minor_units``, with the scale beside them; lists are joined with ``|``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import require_type
from accounting_analytics.atomic_files import replace_file
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.exports.manifest import ExportedFile, Manifest
from accounting_analytics.load_metadata import missing_reasons
from accounting_analytics.messages import join_ids
from accounting_analytics.money import to_units
from accounting_analytics.periods import zone
from accounting_analytics.schemas import Ledgers, LineEntries

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from accounting_analytics.cash_flow_report import CashFlowReport

    WriteTable = Callable[[pa.Table, BinaryIO], object]

MANIFEST = "manifest.json"
_INSTANT = pa.timestamp("us", "UTC")


def export_dataset(
    output: str | Path,
    *,
    line_entries: pd.DataFrame,
    ledgers: pd.DataFrame,
    report: CashFlowReport,
    suffix: str,
    write: WriteTable,
) -> Manifest:
    """Write ``fact_line_entry``, ``fact_cash_flow_line`` and ``dim_ledger`` with a manifest into a folder.

    The files are written to a temporary folder that replaces `output` when all of them are complete.

    Parameters
    ----------
    output, line_entries, ledgers, report
        As for :func:`~accounting_analytics.export_parquet`.
    suffix : str
        Ending of the file names, with its dot.
    write : callable
        Writes one table to a binary file.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount does not fit 64-bit minor units.
    InputError
        An argument is of another type, or the folder contains other files or cannot be written.
    """
    folder = Path(output)
    require_type(line_entries, pd.DataFrame, "line_entries", "load_line_entries(client, ...) returns them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    require_report(report, "report")
    lines = LineEntries.exact(LineEntries.checked(line_entries))
    exact_report = report.exact()
    if lines.scale != report.scale:
        msg = f"line entries have scale {lines.scale}, the report has scale {report.scale}"
        raise FrameError(msg)
    tables = {
        f"fact_line_entry{suffix}": _flatten(lines.frame.drop(columns="local_date", errors="ignore"), report),
        f"fact_cash_flow_line{suffix}": _flatten(_named_lines(exact_report), report),
        f"dim_ledger{suffix}": _flatten(Ledgers.checked(ledgers), report),
    }
    require_replaceable(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            complete = Path(temporary) / "new"
            complete.mkdir()
            manifest = Manifest(
                folder=folder,
                start_date=str(report.period.start_date),
                end_date=str(report.period.end_date),
                time_zone=report.period.time_zone,
                scale=report.scale,
                partial=report.partial or bool(missing_reasons(line_entries, report.period)),
                files=tuple(_write_table(complete / name, table, write) for name, table in tables.items()),
            )
            text = manifest.to_json()
            replace_file(complete / MANIFEST, lambda file: file.write(text.encode()), remove_leftovers=False)
            _replace_folder(folder, complete, previous=Path(temporary) / "previous")
    except OSError as error:
        msg = f"the export to {folder} failed ({error.strerror or error}); the previous content is unchanged"
        raise InputError(msg) from error
    return manifest


def require_replaceable(folder: Path) -> None:
    """Refuse a folder with files that its export manifest does not list: replacing the folder would lose them.

    Raises
    ------
    InputError
        It is such a folder, or a file.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{folder} is a file; name a folder to export to"
        raise InputError(msg)
    others = {path.name for path in folder.iterdir()} - _exported_names(folder)
    if others:
        msg = (
            f"{folder} contains files that are not part of an export ({join_ids(others)}); name an empty or new "
            "folder; nothing was written"
        )
        raise InputError(msg)


def _exported_names(folder: Path) -> set[str]:
    """Names of the files of an export, as its manifest lists them; empty where there is no export."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return {MANIFEST, *(file["name"] for file in manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _named_lines(report: CashFlowReport) -> pd.DataFrame:
    """Cash flow lines with the names of their ledgers."""
    names = dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
    return report.lines.assign(ledger_name=report.lines["ledger_id"].map(names).astype("str"))


def _flatten(frame: pd.DataFrame, report: CashFlowReport) -> pa.Table:
    """Table with columns of types that every reader knows."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = pa.chunked_array([pa.array(frame[name], from_pandas=True)]).combine_chunks()
        if pa.types.is_decimal(column.type):
            columns[f"{name}_minor_units"] = _minor_units(column, name)
        elif pa.types.is_timestamp(column.type):
            columns[name] = column.cast(_INSTANT)
            columns[f"{name}_local_date"] = _local_dates(frame[name], report.period.time_zone)
        elif pa.types.is_boolean(column.type):
            columns[name] = column
        else:
            columns[name] = column.cast(pa.string())
    if any(name.endswith("_minor_units") for name in columns):
        columns["scale"] = pa.repeat(pa.scalar(report.scale, pa.int32()), len(frame))
    return pa.table(columns)


def _minor_units(column: pa.Array, name: str) -> pa.Array:
    """Whole minor units in int64; an amount that does not fit is refused, never wrapped."""
    try:
        return to_units(column)
    except pa.ArrowInvalid as error:
        msg = f"column {name!r} has an amount that does not fit 64-bit minor units at scale {column.type.scale}"
        raise FrameError(msg) from error


def _local_dates(instants: pd.Series[Any], time_zone: str) -> pa.Array:
    midnights = instants.dt.tz_convert(zone(time_zone)).dt.tz_localize(None).dt.normalize()
    return pa.array(midnights, pa.timestamp("us"), from_pandas=True).cast(pa.date32())


def _write_table(path: Path, table: pa.Table, write: WriteTable) -> ExportedFile:
    replace_file(path, partial(write, table), remove_leftovers=False)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # summed as decimals, because a sum of int64 overflows silently
    sums = {
        name: int(pc.sum(table[name].cast(pa.decimal128(38, 0)), min_count=0).as_py())
        for name in table.column_names
        if name.endswith("_minor_units")
    }
    columns = {field.name: str(field.type) for field in table.schema}
    return ExportedFile(path.name, table.num_rows, sums, digest, columns)


def _replace_folder(folder: Path, complete: Path, *, previous: Path) -> None:
    """Rename `complete` to `folder`, which is moved to `previous` and deleted; if that fails, it is moved back."""
    if not folder.exists():
        complete.rename(folder)
        return
    folder.rename(previous)
    try:
        complete.rename(folder)
    except OSError:
        previous.rename(folder)
        raise
    shutil.rmtree(previous)
