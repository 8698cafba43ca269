"""Measure statements in one process, imports done: 24 months from 100,000 lines, against a pivot of naive pandas.

Run ``python tests/benchmarks/statements.py [--lines 100000] [--rounds 7]``. The books are those of ``recompute.py``:
two fifths of their five years. The pivot is what an analyst would write: lines by ledger and local month, as floats,
without sections, totals or entries. It prints medians and asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from recompute import ZONE, write_books

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Callable

START, END = "2023-01-01", "2024-12-31"
TYPES = ["asset"] * 15 + ["revenue"] * 15 + ["expense"] * 20 + ["liability"] * 5 + ["equity"] * 5
SUB_TYPES = {
    "asset": "current_assets",
    "revenue": "operating_revenues",
    "expense": "operating_expenses",
    "liability": "current_liabilities",
    "equity": "equity",
}


def read_books(folder: Path, lines: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines of the two years as a load returns them, with float64 amounts, and the chart of accounts."""
    write_books(folder, lines * 5 // 2)
    frame = pd.read_parquet(folder / "lines.parquet").astype({"signed_amount": "float64"})
    local = frame["datetime"].dt.tz_convert(ZONE).dt.tz_localize(None)
    frame = frame[(local >= START) & (local < "2025-01-01")].reset_index(drop=True)
    frame.attrs["load"] = {
        "start_date": START,
        "end_date": END,
        "time_zone": ZONE,
        "scale": 2,
        "filters": {},
        "complete": True,
        "missing": {},
        "lines": len(frame),
        "ledgers": json.dumps({f"led_{number}": f"{START}/{END}" for number in range(len(TYPES))}),
    }
    return frame, read_ledgers(folder)


def read_ledgers(folder: Path) -> pd.DataFrame:
    """Read the chart of accounts, with what statements need of it."""
    ledgers = pd.read_parquet(folder / "ledgers.parquet").assign(type=TYPES, parent_id=None)
    ledgers = ledgers.assign(sub_type=ledgers["type"].map(SUB_TYPES), debit_credit="debit", is_required=False)
    return ledgers.assign(financial_account_type=None)


def pivot(lines: pd.DataFrame) -> pd.DataFrame:
    """Sum by ledger and local month, as an analyst would."""
    month = lines["datetime"].dt.tz_convert(ZONE).dt.tz_localize(None).dt.to_period("M")
    return lines.groupby(["ledger_id", month])["signed_amount"].sum().unstack(fill_value=0)  # noqa: PD010 (the sums are one value a cell)


def measure(name: str, work: Callable[[], Any], rounds: int) -> float:
    """Print the median and the minimum of some rounds in milliseconds; return the median."""
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    print(f"{name:58} {1000 * median:8.1f} ms (least {1000 * min(seconds):.1f})")
    return median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines, ledgers = read_books(Path(folder), arguments.lines)
    rounds = arguments.rounds
    print(f"{len(lines):,} lines, 24 months")
    naive = measure("pivot of naive pandas", lambda: pivot(lines), rounds)
    makers: tuple[Callable[[aa.Books], aa.Statement], ...] = (
        aa.cash_flow_statement,
        aa.income_statement,
        aa.balance_sheet,
    )
    for make in makers:

        def made(make: Callable[[aa.Books], aa.Statement] = make) -> aa.Statement:
            return make(aa.Books(lines, ledgers, opening=START))  # new books, which have summed nothing yet

        seconds = measure(f"{make.__name__} with all its figures", lambda made=made: made().frame, rounds)  # type: ignore[misc]
        print(f"{'':58} {seconds / naive:8.2f} x the pivot")
        statement = made()
        row = next(one for one in statement.rows if one.kind == "ledger")
        key = (row.key, statement.columns[12].key)
        figure = statement[key]
        measure(f"  entries of a figure ({len(figure.entries):,} lines)", partial(getattr, figure, "entries"), rounds)
        html = statement._repr_html_()
        shown = f"{len(statement.rows)} rows, {len(html) // 1000} KB"
        measure(f"  HTML ({shown})", statement._repr_html_, rounds)


if __name__ == "__main__":
    main()
