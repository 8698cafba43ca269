"""The embedded service over books of a million lines: import, pages, reports, changes, and the memory of the server.

    python tests/benchmarks/service.py [--lines 1000000] [--months 36] [--rounds 15] [--keep books.db]

Everything runs as a user runs it: the import as a command, the service as a process, requests over loopback. It prints
medians and asserts nothing.
"""

import argparse
import datetime as dt
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

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
EXPAND = "ledger,ledger.parent,ledger.parent.parent,transaction,journal_entry,opposing_ledger_ids"


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
    """Import the table by the command line; returns seconds."""
    started = time.perf_counter()
    words = ["import", file, "--database", database, "--cash", "assets:bank*", "--cash", "liabilities:card*"]
    subprocess.run([*COMMAND, *map(str, words)], check=True, capture_output=True)  # noqa: S603 (our own)
    return time.perf_counter() - started


@contextmanager
def served(database):
    """Serve the books in a process of their own; yields a client and the process id."""
    process = subprocess.Popen(  # noqa: S603 (our own)
        [*COMMAND, "serve", "--database", str(database)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        printed = "".join(process.stdout.readline() for _ in range(6))
        url = re.search(r"BASE_URL=(\S+)", printed)[1]
        instance = re.search(r"INSTANCE_ID=(\S+)", printed)[1]
        token = Path(re.search(r"TOKEN_FILE=(\S+)", printed)[1]).read_text().strip()
        headers = {"authorization": f"Bearer {token}", "service-instance-id": instance}
        with httpx.Client(base_url=url, headers=headers, timeout=120) as client:
            yield client, process.pid
    finally:
        process.terminate()
        process.wait()


def timed(call, rounds):
    """Median seconds of a call, and its last response."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        response = call()
        seconds.append(time.perf_counter() - started)
        response.raise_for_status()
    return statistics.median(seconds), response


@contextmanager
def watched_memory(pid):
    """Sample the private memory of a process every hundredth of a second; mapped files do not count."""
    samples, stop = [], threading.Event()

    def sample():
        while not stop.wait(0.01):
            status = Path(f"/proc/{pid}/status").read_text()
            samples.append(int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024)

    watcher = threading.Thread(target=sample)
    watcher.start()
    yield samples
    stop.set()
    watcher.join()


def pages(client, ledger, days, rounds):
    """Time the first page and the last full one, with everything expanded."""
    path = f"/v0/ledgers/{ledger}/line-entries"
    query = days | {"limit": 1000, "expand": EXPAND}
    tokens = [None]
    while tokens[-1] is not None or len(tokens) == 1:
        page = client.get(path, params=query | ({"page_token": tokens[-1]} if tokens[-1] else {}))
        tokens.append(page.json()["next_page_token"])
    number = len(tokens) - 2  # the last page is short
    first, response = timed(lambda: client.get(path, params=query), rounds)
    last, _ = timed(lambda: client.get(path, params=query | {"page_token": tokens[number - 1]}), rounds)
    print(f"page of 1,000, all expanded ({len(response.content) / 1e6:.2f} MB): page 1 {first * 1e3:.1f} ms", end="")
    print(f", page {number} {last * 1e3:.1f} ms, ratio {last / first:.2f}   (target: 20 ms, 1.3)")


def reports(client, pid, months, rounds):
    """Time a report of twelve months and one of a day, and sample the memory of the server."""
    last = START + dt.timedelta(days=months * 365 // 12 - 1)
    year = {"start_date": str((last - dt.timedelta(days=364)).date()), "end_date": str(last.date())}
    day = {"start_date": str(last.date()), "end_date": str(last.date())}
    with watched_memory(pid) as megabytes:
        seconds, response = timed(lambda: client.get("/v0/reports/cash-flow", params=year), rounds)
    count = response.text.count('"line_id"')
    print(
        f"report of 12 months, {count:,} lines ({len(response.content) / 1e6:.1f} MB): {seconds * 1e3:.0f} ms", end=""
    )
    print("   (target: 400 ms)")
    seconds, response = timed(lambda: client.get("/v0/reports/cash-flow", params=day), rounds)
    print(f"report of its last day, {response.text.count('line_id')} lines: {seconds * 1e3:.1f} ms")
    print(f"memory of the server over the long reports: {min(megabytes):.0f} to {max(megabytes):.0f} MB")


def changes(client, ledger, days, rounds):
    """Time recategorizing; each change is durable before its response."""
    query = days | {"limit": 1000, "expand": "opposing_ledger_ids"}
    lines = client.get(f"/v0/ledgers/{ledger}/line-entries", params=query).json()["records"]
    single = [line for line in lines if len(line["opposing_ledger_ids"]) == 1]
    targets = sorted({line["opposing_ledger_ids"][0] for line in single})
    waiting = iter(single * 2)

    def change():
        line = next(waiting)
        target = targets[0] if line["opposing_ledger_ids"][0] != targets[0] else targets[1]
        path = f"/v0/ledgers/{ledger}/transactions/{line['transaction_id']}/categories"
        return client.put(path, json={"updated_category_ledger_id": target})

    seconds, _ = timed(change, rounds * 10)
    print(f"recategorize, durable: {seconds * 1e3:.1f} ms   (target: 5 ms)")


def main():
    """Run everything once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--months", type=int, default=36)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--keep", type=Path, help="use these books if they exist, and keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = options.keep or Path(folder) / "books.db"
        if not database.exists():
            file = Path(folder) / "books.parquet"
            lines = write_books(file, options.lines, options.months)
            seconds = import_books(file, database)
            print(f"import of {lines:,} lines from Parquet: {seconds:.1f} s, {lines / seconds:,.0f} lines/s", end="")
            print("   (target: 50,000)")
        days = {
            "start_date": str(START.date()),
            "end_date": str((START + dt.timedelta(days=options.months * 31)).date()),
        }
        with served(database) as (client, pid):
            report = client.get("/v0/reports/cash-flow", params=days | {"start_date": days["end_date"]}).json()
            (largest,) = [at["ledger_id"] for at in report["ending_balances"] if at["ledger_name"] == "bank 0"]
            pages(client, largest, days, options.rounds)
            reports(client, pid, options.months, options.rounds)
            changes(client, largest, days, options.rounds)


if __name__ == "__main__":
    main()
