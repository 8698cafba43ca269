"""Syncs of local books for ``growth.py``: the first one, and one without changes.

The service is a process of its own, and so is each step: ``local_books.py FOLDER MONTHS``. It stops if the books
do not agree with the reports of the service.
"""

import datetime as dt
import json
import os
import random
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import accounting_analytics as aa

COMMAND = [sys.executable, "-m", "accounting_analytics"]
CASH = [f"assets:bank {number}" for number in range(8)] + [f"liabilities:card {number}" for number in range(4)]
CATEGORIES = (
    [f"expenses:group {number % 12}:category {number}" for number in range(140)]
    + [f"income:source {number}" for number in range(30)]
    + [f"liabilities:loan {number}" for number in range(6)]
)
LARGEST = 0.45
"""Share of the entries that the largest account has."""
START = dt.datetime(2023, 1, 1, tzinfo=dt.UTC)
START_DATE = "2023-01-01"


def write_books(file, lines, months):
    """Write a line table of two to four lines per entry, spread evenly over the months."""
    chance = random.Random(7)  # noqa: S311 (a benchmark)
    columns = {name: [] for name in ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")}
    seconds = months * 365 * 86400 // 12
    written = entry = 0
    while written < lines:
        count = chance.choices([1, 2, 3], [70, 20, 10])[0]
        outflow = chance.random() < 0.7
        amounts = [chance.randint(100, 500_000) for _ in range(count)]
        own = CASH[0] if chance.random() < LARGEST else chance.choice(CASH[1:])
        rows = [(own, "credit" if outflow else "debit", sum(amounts))]
        rows += [(chance.choice(CATEGORIES), "debit" if outflow else "credit", amount) for amount in amounts]
        when = START + dt.timedelta(seconds=int(seconds * written / lines))
        for ledger, side, cents in rows:
            values = (f"entry-{entry:07d}", when, f"Payment {entry} to a supplier", ledger, side, Decimal(cents) / 100)
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        written += count + 1
        entry += 1
    columns["datetime"] = pa.array(columns["datetime"], pa.timestamp("us", "UTC"))
    columns["amount"] = pa.array(columns["amount"], pa.decimal128(18, 2))
    pq.write_table(pa.table(columns), file)
    return written


def import_books(file, database):
    """Import the table by the command line."""
    words = ["import", file, "--database", database, "--cash", "assets:bank*", "--cash", "liabilities:card*"]
    words += ["--time-zone", "UTC"]
    subprocess.run([*COMMAND, *map(str, words)], check=True, capture_output=True)  # noqa: S603 (our own)


@contextmanager
def served(database):
    """Serve the books in a process of their own; yields the settings of a client."""
    process = subprocess.Popen(  # noqa: S603 (our own)
        [*COMMAND, "serve", "--database", str(database)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        settings = {}
        while "ACCOUNTING_ANALYTICS_TOKEN_FILE" not in settings and (line := process.stdout.readline()):
            settings |= re.findall(r"(ACCOUNTING_ANALYTICS_\w+)=(\S+)", line)
        yield settings
    finally:
        process.terminate()
        process.wait()


def run(folder, days):
    """Sync with the client of the environment; return what it took."""
    with aa.connect(requests_per_minute=10**9, time_zone="UTC") as client:
        started = time.perf_counter()
        result = aa.LocalBooks.open(folder / "books").sync(client, start_date=days[0], end_date=days[1])
        seconds = time.perf_counter() - started
    if not result.ties:
        sys.exit("the books do not agree with the service's reports, so there is nothing to measure")
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    return {"seconds": seconds, "peak": peak}


def measured_steps(folder, lines, months):
    """Serve new books and sync them twice, each time in a process; yields each step and what it took."""
    write_books(folder / "lines.in.parquet", lines, months)
    import_books(folder / "lines.in.parquet", folder / "books.db")
    with served(folder / "books.db") as settings:
        environment = os.environ | settings
        for step in ("first sync", "sync without changes"):
            command = [sys.executable, __file__, str(folder), str(months)]
            printed = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 (our own)
            yield step, json.loads(printed)


def last_day(months):
    return f"{2023 + (months - 1) // 12}-{(months - 1) % 12 + 1:02}-28"


def stored_bytes(folder):
    return sum(path.stat().st_size for path in (folder / "books").rglob("*") if path.is_file())


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), (START_DATE, last_day(int(sys.argv[2]))))))
