"""One measured step of ``growth.py`` as its own process: ``growth_steps.py WORK PROGRAM WARM_UP FOLDER [MASTER]``.

The folders have books of ``recompute.py``: ``lines.parquet`` of five years, and ``ledgers.parquet``. A step reads the
file and makes its result for 2024, and prints as JSON how long both took together, the peak memory, and figures of the
result as text, every digit of them. It has done the same with the few lines of WARM_UP before, so that imports, the
start of Spark and what is done at a first use are not measured, nor is the comparison of figures. MASTER is the address
of the Spark cluster whose driver the step is.
"""

from __future__ import annotations

import csv
import gc
import hashlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl  # noqa: F401 (imported before the clock starts)
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from recompute import COLUMNS, ZONE, naive
from statements import TYPES, pivot, read_ledgers

import accounting_analytics as aa
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.local_books.sql_on_books import scan_files

if TYPE_CHECKING:
    from collections.abc import Callable


YEAR, YEARS = ("2024-01-01", "2024-12-31"), ("2019-12-31", "2024-12-31")  # days in the zone of the lines
STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)
WATCH = """
import os, subprocess, sys
program = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(program.pid, 0)
program.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(program.returncode)
"""
"""Start a program from a small process, whose memory is the least that its peak can be."""
TABLES = ("ledgers", "starting_balances", "ending_balances")
SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1500m",
    "spark.sql.shuffle.partitions": "2",
    "spark.testing.reservedMemory": "10000000",  # Spark refuses a driver of 300 MB otherwise
}
DRIVER_MEMORY = {"report with lines": "2g"}
"""Heap of Spark's driver, by default 300 MB: lines of a report pass through it."""


def peak_mb(process: int | str = "self") -> float:
    """Return the peak memory of a process that is still there."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def count_peak_from_now() -> float:
    """Release what this process does not need and forget its peak; return the memory that it has."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_mb()


def digest(texts: list[str]) -> str:
    """Return a short hash of tables as text."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def digest_of_months(cents: dict[tuple[str, str], int]) -> str:
    """Return a hash of the cents of ledgers and months, without those that are zero."""
    return digest([f"{ledger} {month} {amount}" for (ledger, month), amount in sorted(cents.items()) if amount])


def read_scanned(engine: str, folder: Path, session: Any) -> aa.Books:
    """Return books whose lines an engine reads, as a load of all of them."""
    path = folder / "lines.parquet"
    parquet, days = pq.ParquetFile(path), "2019-12-31/2024-12-31"
    load = {
        "start_date": "2019-12-31", "end_date": "2024-12-31", "books_start": "2019-12-31", "time_zone": ZONE,
        "scale": 2, "filters": {}, "complete": True, "missing": {}, "lines": parquet.metadata.num_rows,
        "ledgers": json.dumps({f"led_{number}": days for number in range(len(TYPES))}),
    }  # fmt: skip
    if engine == "pandas":
        frame = pd.read_parquet(path, columns=COLUMNS).astype({"signed_amount": "float64"})
        frame.attrs["load"] = load
        return aa.Books(frame, read_ledgers(folder), YEAR)
    if session is not None:
        assert session is type(session).getActiveSession()
    frame = scan_files(engine, [path], parquet.schema_arrow)
    return aa.Books.of_engine(frame, read_ledgers(folder), aa.Period(*YEAR, ZONE), load, ())


def report(engine: str, folder: Path, session: Any, *, lines: bool) -> Callable[[], dict[str, str]]:
    """Recompute the cash flow report of the year."""
    made = aa.recompute_cash_flow(read_scanned(engine, folder, session), lines=lines)

    def figures() -> dict[str, str]:
        exact = made.exact()
        tables = [getattr(exact, name).to_csv(index=False) for name in TABLES]
        of_lines = {"lines": str(len(exact.lines)), "sum of lines": str(sum(exact.lines["amount"]))} if lines else {}
        return {"net cash flow": str(exact.net_cash_flow), "tables": digest(tables), **of_lines}

    return figures


def naive_report(folder: Path) -> Callable[[], dict[str, str]]:
    """Recompute as an analyst would in pandas, with amounts as floats."""
    net = naive(folder, *YEAR)["net"]
    return lambda: {"net cash flow": f"{net:.2f}"}


def statements(engine: str, folder: Path, session: Any) -> Callable[[], dict[str, str]]:
    """Make the four statements of the year, by month."""
    books = read_scanned(engine, folder, session)
    made: dict[str, aa.Statement] = {make.__name__: make(books) for make in STATEMENTS}
    tidy = {name: one.tidy() for name, one in made.items()}

    def figures() -> dict[str, str]:
        income = tidy["income_statement"]
        keys = zip(income["ledger_id"], income["column"], strict=True)
        cents = dict(zip(keys, (income["amount"] * 100).round().astype("int64"), strict=True))
        tables = {name: digest([one.to_csv(index=False)]) for name, one in tidy.items()}
        return {"income and expenses": digest_of_months(cents), **tables}

    return figures


def of_income(cents: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the cents of income and expenses, income positive, from changes of balances."""
    kinds = {f"led_{number}": kind for number, kind in enumerate(TYPES)}
    sign = {"revenue": -1, "expense": 1}
    return {key: sign[kinds[key[0]]] * amount for key, amount in cents.items() if kinds[key[0]] in sign}


def naive_statements(folder: Path) -> Callable[[], dict[str, str]]:
    """Sum by ledger and month as an analyst would in pandas, with amounts as floats."""
    sums = pivot(pd.read_parquet(folder / "lines.parquet", columns=COLUMNS).astype({"signed_amount": "float64"}))

    def figures() -> dict[str, str]:
        cents = {
            (ledger, str(month)): round(sums.loc[ledger, month] * 100)
            for ledger in sums.index
            for month in sums.columns
            if month.year == 2024
        }
        return {"income and expenses": digest_of_months(of_income(cents))}

    return figures


def write_journal(folder: Path) -> Path:
    """Write the lines as a journal of hledger, dated by local days, if it is not there."""
    path = folder / "lines.journal"
    if not path.exists():
        dated = duckdb.sql(
            f"SELECT journal_entry_id, ledger_id, signed_amount, (datetime AT TIME ZONE '{ZONE}')::DATE AS day "  # noqa: S608 (our own words)
            f"FROM '{folder / 'lines.parquet'}' ORDER BY day, journal_entry_id"
        ).fetchall()
        entry = None
        with path.open("w", encoding="utf-8") as file:
            for entry_id, ledger, amount, day in dated:
                if entry_id != entry:
                    print(f"\n{day} {entry_id}", file=file)
                    entry = entry_id
                print(f"    {ledger}  {amount}", file=file)
    return path


def hledger_statements(journal: Path) -> tuple[float, Callable[[], dict[str, str]]]:
    """Sum by ledger and month with hledger; the first value is its peak memory."""
    command = ["hledger", "-f", str(journal), "balance", "--monthly", "-b", "2024-01-01"]
    command += ["-e", "2025-01-01", "-O", "csv", "--no-total"]
    ran = subprocess.run([sys.executable, "-S", "-c", WATCH, *command], check=True, capture_output=True, text=True)  # noqa: S603 (our own)

    def figures() -> dict[str, str]:
        head, *rows = list(csv.reader(ran.stdout.splitlines()))
        cents = {
            (ledger, month): int(amount.replace(".", "")) if "." in amount else 100 * int(amount)
            for ledger, *amounts in rows
            for month, amount in zip(head[1:], amounts, strict=True)
        }
        return {"income and expenses": digest_of_months(of_income(cents))}

    return float(ran.stderr.splitlines()[-1]) / 1024, figures


def read_books(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read line entries and ledgers as a load returns them."""
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
    dtypes = LineEntries.dtypes()
    columns = {name: table[name] for name in table.column_names} | added
    lines = pd.DataFrame({name: column.to_pandas().astype(dtypes[name]) for name, column in columns.items()})
    lines.attrs["scale"] = 2
    few = pd.read_parquet(folder / "ledgers.parquet")
    absent_columns = {name: [None] * len(few) for name in Ledgers.dtypes() if name not in ("found_by", "parent_known")}
    return lines, Ledgers.from_columns(absent_columns | {name: few[name].tolist() for name in few})


def export_lines(program: str, folder: Path) -> dict[str, Any]:
    """Export the books of all years, or write their lines by hand, from a frame made before the clock starts."""
    lines, ledgers = read_books(folder)
    if program == "star schema":
        shutil.rmtree(folder / "out", ignore_errors=True)
        stored = f"{folder}/out/**/fact_line_entry*.parquet"
        # a report of the service, or there is nothing to compare
        report = replace(aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone=ZONE), YEARS), origin="loaded")
        before, began = count_peak_from_now(), time.perf_counter()
        books = aa.Books(lines, ledgers, YEARS, time_zone=ZONE, reports=[report])
        manifest = aa.export(books, folder / "out")
        seconds = time.perf_counter() - began
        assert manifest.verdict == "Reported and recomputed cash flow agree to the last digit."
        stored_bytes = sum((manifest.folder / file.name).stat().st_size for file in manifest.files)
    else:
        stored = str(folder / "by_hand.parquet")
        before, began = count_peak_from_now(), time.perf_counter()
        lines.to_parquet(stored)
        seconds = time.perf_counter() - began
        stored_bytes = Path(stored).stat().st_size
    taken = {"seconds": seconds, "peak_mb": peak_mb(), "bytes_a_line": stored_bytes / len(lines)}
    taken["added_mb"] = taken["peak_mb"] - before
    [(count, total)] = duckdb.sql(f"SELECT count(*), sum(amount) FROM '{stored}'").fetchall()  # noqa: S608 (our own words)
    return taken | {"figures": {"lines": str(count), "sum of amounts": str(total)}}


def start_spark(master: str, work: str) -> Any:
    """Start the driver of a Spark cluster."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (the other programs do without it)

    builder = SparkSession.builder.master(master).config("spark.driver.memory", DRIVER_MEMORY.get(work, "300m"))
    for name, value in SPARK.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run(work: str, program: str, folder: Path, session: Any) -> dict[str, Any]:
    """Run a step; return what it took and the figures of its result."""
    if work == "export":
        return export_lines(program, folder)
    peak, journal = None, write_journal(folder) if program == "hledger" else None
    began = time.perf_counter()
    if journal is not None:
        peak, figures = hledger_statements(journal)
    elif program == "pandas by hand":
        figures = (naive_statements if work == "statements" else naive_report)(folder)
    elif work == "statements":
        figures = statements(program, folder, session)
    else:
        figures = report(program, folder, session, lines=work == "report with lines")
    return {"seconds": time.perf_counter() - began, "peak_mb": peak or peak_mb(), "figures": figures()}


def main() -> None:
    """Run a step with few lines, then measure it."""
    work, program, warm_up, folder, *master = sys.argv[1:]
    session, of_driver = None, {}
    if program == "pyspark":
        session = start_spark(*master, work)
        java = session.sparkContext._gateway.proc.pid
        of_driver["java_idle_mb"] = peak_mb(java)
    run(work, program, Path(warm_up), session)
    taken = run(work, program, Path(folder), session)
    if session is not None:
        of_driver["java_mb"] = peak_mb(java)
        session.stop()
    print(json.dumps(taken | of_driver))


if __name__ == "__main__":
    main()
