"""Local books of a million lines: the first sync against a load alone, a sync without changes, and their size.

    python tests/benchmarks/books.py [--lines 1000000] [--months 36]

The service is a process of its own, and so is each step. "own" is the CPU time of the step, without the service's; a
"request" is one that the service was sent. It prints figures, and stops if the books do
not agree with the reports of the service.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from service import import_books, served, write_books

import accounting_analytics as aa
from accounting_analytics.books import Books

START_DATE = "2023-01-01"
STEPS = ("load", "first sync", "sync again", "read")


class CountingTransport(httpx.HTTPTransport):
    """Counts the requests."""

    count = 0

    def handle_request(self, request):
        """Send a request."""
        CountingTransport.count += 1
        return super().handle_request(request)


def run(step, folder, days):
    """Run one step with the client of the environment; return what it took."""
    with aa.connect(transport=CountingTransport(), requests_per_minute=10**9, time_zone="UTC") as client:
        started, cpu = time.perf_counter(), time.process_time()
        if step == "load":
            ledgers = aa.discover_ledgers(client, *days)
            aa.load_line_entries_to_parquet(client, ledgers["id"], *days, folder / "lines.parquet")
        elif step == "read":
            Books.open(folder / "books").line_entries()
        else:
            result = Books.open(folder / "books").sync(client, start_date=days[0], end_date=days[1])
            print(result.summary(), f"{len(Books.open(folder / 'books').ledgers())} ledgers", file=sys.stderr)
            if not result.ties:
                sys.exit("the books do not agree with the service's reports, so there is nothing to measure")
        seconds, own = time.perf_counter() - started, time.process_time() - cpu
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    return {"seconds": seconds, "own": own, "requests": CountingTransport.count, "peak": peak}


def measured_steps(folder, lines, months, steps=STEPS):
    """Serve new books and run steps, each a process; yields each step and what it took."""
    write_books(folder / "lines.in.parquet", lines, months)
    import_books(folder / "lines.in.parquet", folder / "books.db")
    with served(folder / "books.db") as (client, _):
        environment = os.environ | {
            "ACCOUNTING_ANALYTICS_BASE_URL": str(client.base_url),
            "ACCOUNTING_ANALYTICS_TOKEN": client.headers["authorization"].removeprefix("Bearer "),
            "ACCOUNTING_ANALYTICS_INSTANCE_ID": client.headers["service-instance-id"],
        }
        for step in steps:
            command = [sys.executable, __file__, "--months", str(months), "--step", step, str(folder)]
            printed = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 (our own)
            yield step, json.loads(printed)


def last_day(months):
    """Last day that is synced."""
    return f"{2023 + (months - 1) // 12}-{(months - 1) % 12 + 1:02}-28"


def stored_bytes(folder):
    """Size of the books on disk."""
    return sum(path.stat().st_size for path in (folder / "books").rglob("*") if path.is_file())


def main():
    """Write the books, serve them, and run each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--months", type=int, default=36)
    parser.add_argument("--step", nargs=2)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(run(options.step[0], Path(options.step[1]), (START_DATE, last_day(options.months)))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for step, took in measured_steps(folder, options.lines, options.months):
            print(
                f"{step:12} {took['seconds']:7.1f} s, own {took['own']:6.1f} s CPU, {took['requests']:5} requests, "
                f"peak {took['peak']:6.0f} MB",
                flush=True,
            )
        stored = stored_bytes(folder)
        print(f"on disk {stored / 1e6:.1f} MB, {stored / options.lines:.0f} bytes a line")


if __name__ == "__main__":
    main()
