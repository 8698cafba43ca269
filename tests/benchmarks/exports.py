"""Measure export_parquet: seconds, CPU seconds, bytes a line, memory.

Run ``python tests/benchmarks/exports.py [--lines 1000000]`` on Linux. The books are those of
``recompute.py``, five years, exported whole. Each export is its own process; "build" is the export without reading the
books and the imports. "before" is the memory of the process with the books, "added" how much more the export needs at
its peak.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

DAYS = ("2020-01-01", "2024-12-31")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Megabytes of this process: when it was made, and how many more since then at most."""

    def __init__(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 (only the exporting process needs it)

        gc.collect()
        pa.default_memory_pool().release_unused()
        CLEAR.write_text("5", encoding="ascii")  # the peak is counted from now
        self.before = self._megabytes("VmRSS")

    @property
    def added(self) -> float:
        """Megabytes above those before."""
        return self._megabytes("VmHWM") - self.before

    @staticmethod
    def _megabytes(field: str) -> float:
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024


def read_books(folder: Path) -> tuple:
    """Line entries and ledgers as a load returns them."""
    import pandas as pd  # noqa: PLC0415 (only the exporting process needs it)
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from accounting_analytics.core.schemas import Ledgers, LineEntries  # noqa: PLC0415

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


def export(folder: Path) -> dict[str, float]:
    """Export, and return what it took."""
    import accounting_analytics as aa  # noqa: PLC0415

    lines, ledgers = read_books(folder)
    # a report of the service, or there is nothing to compare
    report = replace(aa.recompute_cash_flow(lines, ledgers, *DAYS), origin="loaded")
    memory, started, began = PeakMemory(), time.perf_counter(), time.process_time()
    books = {"line_entries": lines, "ledgers": ledgers, "report": report}
    manifest = aa.export_parquet(folder / "out", **books)
    build, before, added = time.process_time() - began, memory.before, memory.added
    seconds = time.perf_counter() - started
    assert manifest.verdict == "Reported and recomputed cash flow agree to the last digit."
    size = sum((manifest.folder / file.name).stat().st_size for file in manifest.files)
    rows = manifest.tables["fact_line_entry"]
    return {
        "seconds": seconds,
        "build": build,
        "bytes": size / rows,
        "before": before,
        "added": added,
    }


def measured(folder: Path) -> dict[str, float]:
    """Run an export as its own process."""
    command = [sys.executable, __file__, "--folder", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    result = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("the export failed")
    return {"process": usage.ru_utime + usage.ru_stime, **result}


def main() -> None:
    """Write the books and export them, or be one of the exports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(export(options.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        books = [sys.executable, str(Path(__file__).with_name("recompute.py")), "--write", "--folder", name]
        subprocess.run([*books, "--lines", str(options.lines)], check=True)  # noqa: S603
        titles = ("seconds", "process s", "build s", "bytes/line", "before MB", "added MB")
        print(*(f"{title:>10}" for title in titles))
        one = measured(Path(name))
        seconds = [f"{one[name]:10.1f}" for name in ("seconds", "process", "build")]
        sizes = [f"{one[name]:10.0f}" for name in ("bytes", "before", "added")]
        print(*seconds, *sizes, flush=True)


if __name__ == "__main__":
    main()
