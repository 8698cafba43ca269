"""Measure loading in running kernels: programs in turn against one local server, medians, exactness.

Run ``python tests/benchmarks/load.py [--lines 100000] [--rounds 3]``. The tables: 20 ms a page;
200 ms a page with skewed ledgers and 32 requests in flight against sequential paging. A program loads in a process
that has done all its imports, as in JupyterLab; ``growth.py`` measures how loads grow. The sum of all signed amounts is
compared with the books in whole cents.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Self

import accounting_analytics as aa
from accounting_analytics.loading.load_to_file import load_in_order
from accounting_analytics.loading.request import LoadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = ("2025-01-01", "2025-12-31")
EXPAND = "journal_entry,opposing_ledger_ids,transaction"


def ours(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into validated pandas, with float64 amounts."""
    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    frame = aa.load_line_entries(client, ledger_ids, *DAYS, in_flight=in_flight, progress=False)
    return len(frame), str(Decimal(int((frame["signed_amount"] * 100).round().astype("int64").sum())).scaleb(-2))


def ours_to_parquet(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into a Parquet file, as the first sync of local books does."""
    import pyarrow as pa  # noqa: PLC0415 (each program imports what it needs, as part of its time)
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.parquet"
        request = LoadRequest.from_options(client, ledger_ids, *DAYS, in_flight=in_flight)
        load_in_order(request, path, checkpoint=Path(folder) / "windows", progress=False)
        amounts = pq.read_table(path, columns=["signed_amount"])["signed_amount"].cast(pa.decimal256(60, 2))
        return len(amounts), str(pc.sum(amounts).as_py())


def by_hand(base_url: str, ledger_ids: list[str], _: int) -> tuple[int, str]:
    """Load as an analyst would by hand: a loop over pages, json_normalize, concat."""
    import httpx  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    frames = []
    with httpx.Client(base_url=base_url) as client:
        for ledger_id in ledger_ids:
            params = {"start_date": DAYS[0], "end_date": DAYS[1], "limit": 1000, "expand": EXPAND}
            while True:
                page = client.get(f"/v0/ledgers/{ledger_id}/line-entries", params=params).json()
                frames.append(pd.json_normalize(page["records"]))
                if page["next_page_token"] is None:
                    break
                params["page_token"] = page["next_page_token"]
    frame = pd.concat(frames, ignore_index=True)
    frame["datetime"] = pd.to_datetime(frame["datetime"])
    signed = frame["amount"].where(frame["debit_credit"] == "debit", -frame["amount"])
    return len(frame), f"{signed.sum():.2f}"


PROGRAMS = {"ours": ours, "ours to Parquet": ours_to_parquet, "by hand": by_hand}


@contextmanager
def page_server(lines: int, ledgers: int, skew: float, milliseconds: float) -> Iterator[tuple[str, str]]:
    """Serve books; the values are the address and the exact sum."""
    path = Path(__file__).with_name("page_server.py")
    command = [sys.executable, str(path), str(lines), str(ledgers), str(skew), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        port, cents = server.stdout.readline().split()
        yield f"http://127.0.0.1:{port}", f"{Decimal(cents).scaleb(-2):.2f}"
        server.stdin.close()


class Kernel:
    """A process that has done its imports and a small load, and then loads as often as it is told to."""

    def __init__(self, program: str) -> None:
        command = [sys.executable, __file__, "--program", program]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.__exit__(*error)  # closes its input, on which it ends

    def load(self, base_url: str, ledgers: int, in_flight: int) -> dict[str, float | str]:
        """Load once; the seconds are measured in the kernel."""
        print(json.dumps([base_url, ledgers, in_flight]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def serve_loads(program: str) -> None:
    """Be a kernel: load for each line of standard input."""
    for text in sys.stdin:
        base_url, ledgers, in_flight = json.loads(text)
        start, processor = time.perf_counter(), time.process_time()
        lines, total = PROGRAMS[program](base_url, ledger_names(ledgers), in_flight)
        took = {
            "seconds": time.perf_counter() - start,
            "processor": time.process_time() - processor,
            "peak": int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024,
        }
        print(json.dumps({**took, "lines": lines, "sum": total}), flush=True)


def compare_in_kernels(
    title: str, books: tuple[int, int, float, float], programs: list[str], rounds: int, in_flight: int
) -> None:
    """Load with programs in turn in running kernels, and print medians; the ratio is to the first, round by round."""
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    with ExitStack() as stack:
        base_url, truth = stack.enter_context(page_server(*books))
        warm_up, _ = stack.enter_context(page_server(2000, 1, 1.0, 0))
        kernels = {name: stack.enter_context(Kernel(name)) for name in programs}
        for kernel in kernels.values():
            kernel.load(warm_up, 1, in_flight)
        for number in range(rounds):
            for name in list(kernels)[:: 1 if number % 2 == 0 else -1]:
                run = kernels[name].load(base_url, books[1], in_flight)
                if run["lines"] != books[0]:
                    sys.exit(f"{name} loaded {run['lines']} of {books[0]} lines")
                if run["sum"] != truth:
                    print(f"{name} is not exact: {run['sum']} for {truth}")
                runs[name].append(run)
    print(f"\n{title}, in running kernels, {rounds} round(s), medians", flush=True)
    print(f"{'':18}{'seconds':>9}{'ratio':>8}{'processor':>11}{'ratio':>8}{'lines/s':>10}")
    first = next(iter(runs.values()))
    for name, of_program in runs.items():
        median = {key: statistics.median(run[key] for run in of_program) for key in ("seconds", "processor")}
        ratio = {
            key: statistics.median(run[key] / other[key] for run, other in zip(of_program, first, strict=True))
            for key in median
        }
        print(
            f"{name:18}{median['seconds']:9.2f}{ratio['seconds']:7.2f}x{median['processor']:11.2f}"
            f"{ratio['processor']:7.2f}x{books[0] / median['seconds']:10,.0f}",
            flush=True,
        )


def ledger_names(count: int) -> list[str]:
    return [f"led_{number}" for number in range(count)]


def main() -> None:
    """Compare, or be one of the processes compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        serve_loads(options.program)
        return
    fast = f"{options.lines:,} lines of one ledger, 20 ms a page", (options.lines, 1, 1.0, 20)
    slow = (
        f"{options.lines:,} lines, 4 in 5 of them in one of 20 ledgers, 200 ms a page, 32 in flight",
        (options.lines, 20, 0.81, 200),
    )
    compare_in_kernels(*fast, list(PROGRAMS), options.rounds, 8)
    compare_in_kernels(*slow, ["ours", "by hand"], 1, 32)


if __name__ == "__main__":
    main()
