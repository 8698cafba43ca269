"""Measure recompute_cash_flow against naive pandas: each in its own process, in turn: medians, peak memory.

Run ``python tests/benchmarks/recompute.py [--lines 10000000] [--period month] [--rounds 5]``. The naive program is
what an analyst would write: merge the ledgers, mark the entries with a cash line, group and sum, amounts as (inexact)
floats. All programs read the same Parquet file of five years, make all tables of the report of one of its years or
months, lines included, and must agree on the net cash flow. Those called "totals" make the report with ``lines=False``.
PySpark is measured by ``growth.py``. None of the frames states its load, so each program of this package counts the ids
of the lines that it sums: seconds of their own, not part of the calculation. Each calculates twice: what is imported
when it is used counts in the first time, and not in the second; the peak of memory is that of the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Callable

PERIODS = {"month": ("2024-03-01", "2024-03-31"), "year": ("2024-01-01", "2024-12-31")}
ZONE = "America/New_York"
ENGINES = ("pandas", "pyarrow", "polars lazy", "duckdb")
TOTALS = " totals"
PROGRAMS = ("naive pandas", *ENGINES, *(f"{engine}{TOTALS}" for engine in ENGINES))
COLUMNS = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "datetime", "signed_amount"]


def write_books(folder: Path, lines: int) -> None:
    """Write five years of books: entries of 2 or 3 lines in order of time; 4 of 60 ledgers cash, in 8 of 10 entries."""
    import numpy as np  # noqa: PLC0415 (only the writing process needs it)
    import pandas as pd  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(20240101)
    entries = lines * 2 // 5
    split = rng.random(entries) < 0.5
    first = rng.integers(0, 4, entries)
    first[rng.random(entries) < 0.2] = 4  # no cash: receivable against sales
    entry = np.concatenate([np.arange(entries), np.arange(entries), np.flatnonzero(split)])
    ledger = np.concatenate([first, rng.integers(5, 60, entries), rng.integers(5, 60, int(split.sum()))])
    cents = rng.integers(100, 10_000_000, entries) * rng.choice([-1, 1], entries)
    part = np.where(split, cents // 3, 0)
    signed = np.concatenate([cents, part - cents, -part[split]])
    order = np.argsort(entry, kind="stable")
    entry, ledger, signed = entry[order], ledger[order], signed[order]
    micros = np.sort(rng.integers(0, 5 * 365 * 86_400, entries)) * 1_000_000 + 1_577_836_800_000_000
    words = np.stack([signed, signed >> 63], axis=1)
    table = pa.table(
        {
            "id": pa.array(np.char.add("le_", np.arange(len(entry)).astype("U9"))),
            "ledger_id": pa.array(np.char.add("led_", np.arange(60).astype("U2"))).take(pa.array(ledger)),
            "journal_entry_id": pa.array(np.char.add("je_", np.arange(entries).astype("U9"))).take(pa.array(entry)),
            "journal_entry_description": pa.array([f"payment {n}" for n in range(500)]).take(pa.array(entry % 500)),
            "datetime": pa.array(micros, pa.timestamp("us", "UTC")).take(pa.array(entry)),
            "signed_amount": pa.Array.from_buffers(
                pa.decimal128(38, 2), len(signed), [None, pa.py_buffer(np.ascontiguousarray(words))]
            ),
        }
    )
    pq.write_table(table, folder / "lines.parquet", compression="zstd", compression_level=1, row_group_size=128_000)
    ledgers = pd.DataFrame(
        {
            "id": [f"led_{n}" for n in range(60)],
            "name": [f"Ledger {n}" for n in range(60)],
            "report_cash_flow": [n < 4 for n in range(60)],
            "parent_id": [None if n < 15 else f"led_{n // 3}" for n in range(60)],
            "sort_code": [f"{n:03}" for n in range(60)],
        }
    )
    ledgers.to_parquet(folder / "ledgers.parquet")


def timed_twice(calculate: Callable[[], tuple[float, float]]) -> dict[str, float]:
    """Calculate twice; return both times without that of counting ids, the peak of the first, and the net cash flow."""
    began = time.perf_counter()
    net, ids = calculate()
    first = time.perf_counter() - began - ids
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    again, ids_again = calculate()
    assert again == net
    second = time.perf_counter() - began - ids_again
    return {"calculation": first, "again": second, "ids": ids, "peak": peak, "net": net}


def naive(folder: Path, start: str, end: str) -> dict[str, float]:
    """Recompute as an analyst would in pandas; return seconds without reading, and the net cash flow."""
    import pandas as pd  # noqa: PLC0415

    lines = pd.read_parquet(folder / "lines.parquet").astype({"signed_amount": "float64"})
    ledgers = pd.read_parquet(folder / "ledgers.parquet").rename(columns={"id": "ledger_id"})
    return timed_twice(lambda: (naive_net(lines, ledgers, start, end), 0.0))


def naive_net(lines: Any, ledgers: Any, start: str, end: str) -> float:
    """Make all tables of the report in pandas; return the net cash flow."""
    frame = lines.merge(ledgers, on="ledger_id")
    local = frame["datetime"].dt.tz_convert(ZONE).dt.tz_localize(None)
    frame = frame.assign(day=local.dt.normalize())
    cash = frame[frame["report_cash_flow"]]
    starting = cash[cash["day"] < start].groupby("ledger_id")["signed_amount"].sum()
    ending = cash[cash["day"] <= end].groupby("ledger_id")["signed_amount"].sum()
    inside = frame[(frame["day"] >= start) & (frame["day"] <= end)]
    moved = (
        inside[inside["report_cash_flow"]]
        .groupby(["journal_entry_id", "ledger_id", "name"], as_index=False)["signed_amount"]
        .sum()
        .assign(movement=lambda moves: moves["signed_amount"].abs())
        .sort_values("movement", ascending=False)
        .drop_duplicates("journal_entry_id")[["journal_entry_id", "name"]]
        .rename(columns={"name": "cash_flow_ledger_name"})
    )
    flows = inside[~inside["report_cash_flow"]].merge(moved, on="journal_entry_id")
    flows = flows.assign(amount=-flows["signed_amount"]).sort_values(["sort_code", "datetime", "id"])
    net = flows.groupby("ledger_id")["amount"].sum()
    assert len(starting) == len(ending) == 4
    return round(float(net.sum()), 2)


def recomputed(program: str, folder: Path, start: str, end: str) -> dict[str, float]:
    """Recompute with this package on one engine; return seconds (reading included where it is lazy), and the net."""
    import pandas as pd  # noqa: PLC0415

    from accounting_analytics.core.exact_sums import ExactLines  # noqa: PLC0415

    ids, count_ids = 0.0, ExactLines.require_distinct

    def timed(lines: ExactLines, *chosen: Any) -> None:
        nonlocal ids
        began = time.perf_counter()
        count_ids(lines, *chosen)
        ids += time.perf_counter() - began

    ExactLines.require_distinct = timed
    path = folder / "lines.parquet"
    ledgers = pd.read_parquet(folder / "ledgers.parquet")
    engine = program.removesuffix(TOTALS)
    if engine == "pandas":
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        exact = pd.ArrowDtype(pa.decimal128(38, 2))
        lines = pq.read_table(path, columns=COLUMNS).to_pandas(types_mapper={exact.pyarrow_dtype: exact}.get)
    elif engine == "pyarrow":
        import pyarrow.parquet as pq  # noqa: PLC0415

        lines = pq.read_table(path, columns=COLUMNS)
    elif engine == "polars lazy":
        import polars as pl  # noqa: PLC0415

        lines = pl.scan_parquet(path)
    else:
        import duckdb  # noqa: PLC0415

        lines = duckdb.read_parquet(str(path))

    def calculate() -> tuple[float, float]:
        nonlocal ids
        ids = 0.0
        books = aa.Books(lines, ledgers, time_zone=ZONE)
        report = aa.recompute_cash_flow(books, (start, end), lines=program == engine)
        return float(report.net_cash_flow), ids

    return timed_twice(calculate)


def measured(program: str, folder: Path, period: str) -> dict[str, float]:
    """Run one program as its own process: seconds of both calculations, peak memory in MB, and the net cash flow."""
    command = [sys.executable, __file__, "--program", program, "--folder", str(folder), "--period", period]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    result = json.loads(child.stdout.read())
    if child.wait():
        sys.exit(f"{program} failed")
    return result


def compare(lines: int, rounds: int, period: str) -> None:
    """Run all programs in turn, several rounds, and print medians and ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, __file__, "--write", "--lines", str(lines), "--folder", name], check=True)  # noqa: S603
        runs = {program: [] for program in PROGRAMS}
        for _ in range(rounds):
            for program, of_program in runs.items():
                of_program.append(measured(program, folder, period))
    median = {
        program: {key: statistics.median(run[key] for run in of_program) for key in of_program[0]}
        for program, of_program in runs.items()
    }
    if len({round(one["net"], 0) for one in median.values()}) > 1:
        sys.exit(f"the programs do not agree: { {program: one['net'] for program, one in median.items()} }")
    base = median["naive pandas"]
    print(f"{lines} lines, the report of one {period} of five years, {rounds} rounds, medians")
    print(f"{'':18}{'calculation s':>15}{'ratio':>7}{'again s':>10}{'ratio':>7}{'ids s':>7}{'peak MB':>9}")
    for program, one in median.items():
        print(
            f"{program:18}{one['calculation']:15.2f}{base['calculation'] / one['calculation']:7.1f}"
            f"{one['again']:10.2f}{base['again'] / one['again']:7.1f}"
            f"{one['ids']:7.2f}{one['peak']:9.0f}"
        )


def main() -> None:
    """Compare all programs, or run as one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--period", choices=PERIODS, default="year")
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_books(options.folder, options.lines)
    elif options.program:
        start, end = PERIODS[options.period]
        if options.program == "naive pandas":
            result = naive(options.folder, start, end)
        else:
            result = recomputed(options.program, options.folder, start, end)
        print(json.dumps(result))
    else:
        compare(options.lines, options.rounds, options.period)


if __name__ == "__main__":
    main()
