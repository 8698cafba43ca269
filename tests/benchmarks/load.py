"""Measure loading: whole processes in turn against one local server, several rounds, medians, peak memory, exactness.

Run ``python tests/benchmarks/load.py [--lines 100000] [--rounds 3] [--dlt PYTHON]``. PYTHON is the interpreter of an
environment that has dlt with its Parquet support; without it dlt is left out, and the benchmark says so. Four tables:
decoding on one core; 20 ms a page; 200 ms a page with skewed ledgers and 32 requests in flight against paging one after
the other; growth.
"Exact" compares the sum of all signed amounts with the books in whole cents.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = ("2025-01-01", "2025-12-31")
PAGES_DECODED = 40
EXPAND = "journal_entry,opposing_ledger_ids,transaction"


def ours(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into validated pandas."""
    import pyarrow as pa  # noqa: PLC0415 (each program imports what it needs, as part of its time)
    import pyarrow.compute as pc  # noqa: PLC0415

    import accounting_analytics as aa  # noqa: PLC0415

    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    frame = aa.load_line_entries(client, ledger_ids, *DAYS, in_flight=in_flight, progress=False)
    amounts = frame["signed_amount"].array.__arrow_array__().cast(pa.decimal256(60, 2))
    return len(frame), str(pc.sum(amounts).as_py())


def ours_to_parquet(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    import accounting_analytics as aa  # noqa: PLC0415
    from accounting_analytics.loader import load_line_entries_to_parquet  # noqa: PLC0415

    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.parquet"
        written = load_line_entries_to_parquet(client, ledger_ids, *DAYS, path, in_flight=in_flight, progress=False)
        amounts = pq.read_table(path, columns=["signed_amount"])["signed_amount"].cast(pa.decimal256(60, 2))
        return written.lines, str(pc.sum(amounts).as_py())


def by_hand(base_url: str, ledger_ids: list[str], _: int) -> tuple[int, str]:
    """Load as an analyst would: a loop over pages, json_normalize, concat."""
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


def with_dlt(base_url: str, ledger_ids: list[str], _: int) -> tuple[int, str]:
    """Load with dlt's rest_api source into Parquet files."""
    os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
    import dlt  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415
    from dlt.sources.rest_api import rest_api_source  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        source = rest_api_source(
            {
                "client": {
                    "base_url": f"{base_url}/v0/",
                    "paginator": {
                        "type": "cursor",
                        "cursor_path": "next_page_token",
                        "cursor_param": "page_token",
                    },
                },
                "resources": [
                    {
                        "name": ledger_id,
                        "table_name": "lines",
                        "write_disposition": "append",
                        "endpoint": {
                            "path": f"ledgers/{ledger_id}/line-entries",
                            "data_selector": "records",
                            "params": {
                                "start_date": DAYS[0],
                                "end_date": DAYS[1],
                                "limit": 1000,
                                "expand": EXPAND,
                            },
                        },
                    }
                    for ledger_id in ledger_ids
                ],
            }
        )
        target = dlt.destinations.filesystem(bucket_url=f"file://{folder}/out")
        pipeline = dlt.pipeline("lines", destination=target, dataset_name="books", pipelines_dir=f"{folder}/state")
        pipeline.run(source, loader_file_format="parquet")
        count, total = 0, Decimal(0)
        for path in Path(folder, "out", "books", "lines").glob("**/*.parquet"):
            table = pq.read_table(path, columns=["amount", "debit_credit"])
            sides = pc.if_else(pc.equal(table["debit_credit"], "debit"), 1, -1)
            count += table.num_rows
            total += Decimal(str(pc.sum(pc.multiply(table["amount"], sides)).as_py()))
        return count, f"{total:.2f}"


PROGRAMS = {"ours": ours, "ours to Parquet": ours_to_parquet, "by hand": by_hand, "dlt": with_dlt}


@contextmanager
def page_server(lines: int, ledgers: int, skew: float, milliseconds: float) -> Iterator[tuple[str, str]]:
    """Serve books; the values are the address and the exact sum."""
    path = Path(__file__).with_name("page_server.py")
    command = [sys.executable, str(path), str(lines), str(ledgers), str(skew), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        port, cents = server.stdout.readline().split()
        yield f"http://127.0.0.1:{port}", f"{Decimal(cents).scaleb(-2):.2f}"
        server.stdin.close()


def requests_of(base_url: str) -> int:
    """Ask the server how many requests it has answered."""
    with urllib.request.urlopen(f"{base_url}/requests") as answer:  # noqa: S310 (our own server)
        return int(answer.read())


def measured(python: str, program: str, base_url: str, ledgers: int, in_flight: int) -> dict[str, float | str]:
    """Run one program as its own process."""
    before, began = requests_of(base_url), time.perf_counter()
    command = [python, __file__, "--program", program, "--url", base_url]
    command += ["--ledgers", str(ledgers), "--in-flight", str(in_flight)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    told = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{program} failed")
    seconds = time.perf_counter() - began
    answer = json.loads(told.splitlines()[-1])
    requests = requests_of(base_url) - before - 1
    return {"seconds": seconds, "peak": usage.ru_maxrss / 1024, "requests": requests, **answer}


def compare(
    title: str, books: tuple[int, int, float, float], programs: dict[str, str], rounds: int, in_flight: int
) -> None:
    """Run programs in turn and print medians; the ratio is to the first."""
    runs: dict[str, list[dict]] = {program: [] for program in programs}
    with page_server(*books) as (base_url, truth):
        for _ in range(rounds):
            for program, python in programs.items():
                runs[program].append(measured(python, program, base_url, books[1], in_flight))
    print(f"\n{title}, {rounds} round(s), medians", flush=True)
    print(f"{'':18}{'seconds':>9}{'ratio':>8}{'lines/s':>10}{'requests':>10}{'peak MB':>9}  exact")
    ours_took = statistics.median(run["seconds"] for run in runs[next(iter(programs))])
    for program, of_program in runs.items():
        median = {key: statistics.median(run[key] for run in of_program) for key in ("seconds", "peak", "requests")}
        if any(run["lines"] != of_program[0]["lines"] for run in of_program) or of_program[0]["lines"] != books[0]:
            sys.exit(f"{program} loaded {of_program[0]['lines']} of {books[0]} lines")
        exact = "yes" if all(run["sum"] == truth for run in of_program) else f"NO: {of_program[0]['sum']} for {truth}"
        print(
            f"{program:18}{median['seconds']:9.2f}{median['seconds'] / ours_took:7.1f}x"
            f"{books[0] / median['seconds']:10,.0f}{median['requests']:10.0f}{median['peak']:9.0f}  {exact}"
        )


def decoding(rounds: int) -> None:
    """Print the processor time of a page with all nested objects, from bytes to columns or a frame."""
    import pandas as pd  # noqa: PLC0415 (the programs above import what they need themselves)
    from page_server import make_ledgers  # noqa: PLC0415

    from accounting_analytics.client import strict_json  # noqa: PLC0415
    from accounting_analytics.client.records import LineEntryPage  # noqa: PLC0415
    from accounting_analytics.loader.fast_page_decoder import decode_fast  # noqa: PLC0415
    from accounting_analytics.loader.strict_page_decoder import decode_strictly  # noqa: PLC0415

    served, _ = make_ledgers(PAGES_DECODED * 1000, 1, 1.0)
    records = served["led_0"][1]
    tail = b'],"next_page_token":"t","prev_page_token":null}'
    starts = range(0, len(records), 1000)
    pages = [b'{"records":[' + b",".join(records[at : at + 1000]) + tail for at in starts]
    asked = {"ledger_id": "led_0", "expand": frozenset(EXPAND.split(",")), "scale": 2}
    ways = {
        "fast decoder": lambda page: decode_fast(page, **asked).table,
        "strict decoder": lambda page: decode_strictly(strict_json.decode(page, LineEntryPage), "page", **asked).table,
        "json_normalize": lambda page: pd.json_normalize(json.loads(page)["records"]),
    }
    took: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, decode in ways.items():
            began = time.thread_time()
            kept = [decode(page) for page in pages]  # as a load keeps them
            took[way].append((time.thread_time() - began) / len(pages))
            del kept
    print(f"\ndecoding a page of 1,000 lines, {len(pages[0]) / 1e6:.2f} MB, on one core: {rounds} round(s), medians")
    slowest = took["json_normalize"]
    for way, seconds in took.items():
        ratio = statistics.median(slow / quick for slow, quick in zip(slowest, seconds, strict=True))
        print(f"{way:18}{statistics.median(seconds) * 1000:9.2f} ms{ratio:7.1f}x json.loads + json_normalize")


def main() -> None:
    """Compare, or be one of the processes compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dlt", help="interpreter of an environment that has dlt")
    parser.add_argument("--growth", action="store_true", help="only the growth table")
    parser.add_argument("--decoding", action="store_true", help="only the table of decoding")
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--url")
    parser.add_argument("--ledgers", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=8)
    options = parser.parse_args()
    if options.decoding:
        decoding(options.rounds)
        return
    if options.program:
        ledger_ids = [f"led_{at}" for at in range(options.ledgers)]
        lines, total = PROGRAMS[options.program](options.url, ledger_ids, options.in_flight)
        print(json.dumps({"lines": lines, "sum": total}))
        return
    here = dict.fromkeys(["ours", "ours to Parquet", "by hand"], sys.executable)
    if options.dlt:
        here["dlt"] = options.dlt
    else:
        print("dlt is not measured: give --dlt PYTHON, the interpreter of an environment that has it")
    if not options.growth:
        # in a process of its own: the peak memory of the programs counts from what this one needs
        command = [sys.executable, __file__, "--decoding", "--rounds", str(max(options.rounds, 3))]
        subprocess.run(command, check=True)  # noqa: S603 (this very file)
        books = (options.lines, 1, 1.0, 20)
        compare(f"{options.lines:,} lines of one ledger, 20 ms a page", books, here, options.rounds, 8)
        slow = {program: here[program] for program in ("ours", "by hand")}
        books = (options.lines, 20, 0.81, 200)
        title = f"{options.lines:,} lines, 4 in 5 of them in one of 20 ledgers, 200 ms a page, 32 in flight"
        compare(title, books, slow, 1, 32)
    for lines in (10_000, 100_000, 1_000_000):
        programs = dict.fromkeys(("ours", "ours to Parquet"), sys.executable)
        compare(f"growth: {lines:,} lines of one ledger, 20 ms a page", (lines, 1, 1.0, 20), programs, 1, 8)


if __name__ == "__main__":
    main()
