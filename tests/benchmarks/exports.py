"""Measure export_parquet: seconds, bytes a line, peak memory; of a first export, the same again, and one month of it.

Run ``python tests/benchmarks/exports.py [--lines 1000000] [--profile]``. The books are those of ``recompute.py``, five
years, exported whole. Each export is its own process; "build" is the export without reading the books and the imports,
"verdict" the part of it that recomputes and compares the report, "before" the peak memory without the export.
``--profile`` prints the functions that take longest.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DAYS = ("2020-01-01", "2024-12-31")
MONTH = ("2024-12-01", "2024-12-31")
STEPS = ("first", "again", "month")


def read_books(folder: Path) -> tuple:
    """Line entries and ledgers as a load returns them."""
    import pandas as pd  # noqa: PLC0415 (only the exporting process needs it)
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from accounting_analytics.schemas import Ledgers, LineEntries  # noqa: PLC0415

    table = pq.read_table(folder / "lines.parquet")
    debit = pc.greater_equal(table["signed_amount"], pa.scalar(0, table["signed_amount"].type))
    absent = pa.nulls(len(table), pa.string())
    added = {
        "amount": pc.abs(table["signed_amount"]),
        "debit_credit": pc.if_else(debit, "debit", "credit"),
        "ledger_name": table["ledger_id"],
        "transaction_id": table["journal_entry_id"],
        "description": table["journal_entry_description"],
        "related_line_entry_id": absent,
        "tag_ids": absent,
        "editable": pa.nulls(len(table), pa.bool_()),
    }
    dtypes = LineEntries.dtypes(2)
    columns = {name: table[name] for name in table.column_names} | added
    lines = pd.DataFrame({name: column.to_pandas().astype(dtypes[name]) for name, column in columns.items()})
    lines.attrs["scale"] = 2
    few = pd.read_parquet(folder / "ledgers.parquet")
    absent_columns = {name: [None] * len(few) for name in Ledgers.dtypes() if name not in ("found_by", "parent_known")}
    return lines, Ledgers.from_columns(absent_columns | {name: few[name].tolist() for name in few})


def export(folder: Path, step: str, *, profile: bool) -> dict[str, float]:
    """Export, and return what it took."""
    import accounting_analytics as aa  # noqa: PLC0415
    from accounting_analytics.exports.verdict import describe_agreement  # noqa: PLC0415

    lines, ledgers = read_books(folder)
    days = MONTH if step == "month" else DAYS
    report = aa.recompute_cash_flow(lines, ledgers, *days)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    books = {"line_entries": lines, "ledgers": ledgers, "report": report}
    manifest = aa.export_parquet(folder / "out", **books, replace_months=step == "month")
    profiler.disable()
    if profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
    build, began = time.perf_counter() - began, time.perf_counter()
    describe_agreement(report, lines, ledgers)
    verdict = time.perf_counter() - began
    size = sum((manifest.folder / file.name).stat().st_size for file in manifest.files)
    rows = manifest.tables["fact_line_entry"]
    return {"build": build, "verdict": verdict, "bytes": size / rows, "before": before / 1024, "rows": rows}


def measured(folder: Path, step: str, *, profile: bool) -> dict[str, float]:
    """Run one export as its own process."""
    began = time.perf_counter()
    command = [sys.executable, __file__, "--folder", str(folder), "--step", step, *(["--profile"] if profile else [])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    result = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"the export {step!r} failed")
    return {"process": time.perf_counter() - began, "peak": usage.ru_maxrss / 1024, **result}


def main() -> None:
    """Write the books and export them, or be one of the exports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(export(options.folder, options.step, profile=options.profile)))
        return
    with tempfile.TemporaryDirectory() as name:
        books = [sys.executable, str(Path(__file__).with_name("recompute.py")), "--write", "--folder", name]
        subprocess.run([*books, "--lines", str(options.lines)], check=True)  # noqa: S603
        print(
            f"{'export':8}{'process s':>11}{'build s':>9}{'verdict s':>11}{'bytes/line':>12}{'peak MB':>9}{'before':>8}"
        )
        for step in STEPS:
            one = measured(Path(name), step, profile=options.profile)
            print(
                f"{step:8}{one['process']:11.1f}{one['build']:9.1f}{one['verdict']:11.1f}{one['bytes']:12.0f}"
                f"{one['peak']:9.0f}{one['before']:8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
