"""Measure loading: programs in turn against one local server, several rounds, medians, peak memory, exactness.

Run ``python tests/benchmarks/load.py [--lines 100000] [--rounds 3] [--dlt PYTHON]``. PYTHON is the interpreter of an
environment that has dlt with its Parquet support; without it dlt is left out. The tables: decoding on one core; 20 ms
a page in a running kernel and as whole processes; 200 ms a page with skewed ledgers and 32 requests in flight against
sequential paging; growth. In a kernel a program loads in a process that has done all its imports, as in JupyterLab.
"Exact" compares the sum of all signed amounts with the books in whole cents.

``--kernel --against FOLDER`` compares this working tree with that of another commit in running kernels, in turn.
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
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Self

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = ("2025-01-01", "2025-12-31")
PAGES_DECODED = 40
EXPAND = "journal_entry,opposing_ledger_ids,transaction"


def ours(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into validated pandas, with float64 amounts (Arrow decimals in a working tree before them)."""
    import pyarrow as pa  # noqa: PLC0415 (each program imports what it needs, as part of its time)
    import pyarrow.compute as pc  # noqa: PLC0415

    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    frame = aa.load_line_entries(client, ledger_ids, *DAYS, in_flight=in_flight, progress=False)
    amounts = frame["signed_amount"]
    if amounts.dtype == "float64":
        return len(frame), str(Decimal(int((amounts * 100).round().astype("int64").sum())).scaleb(-2))
    exact = amounts.array.__arrow_array__().cast(pa.decimal256(60, 2))
    return len(frame), str(pc.sum(exact).as_py())


def ours_to_parquet(base_url: str, ledger_ids: list[str], in_flight: int) -> tuple[int, str]:
    """Load into a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    client = aa.LedgerClient(base_url, token="benchmark", instance_id="ins_1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.parquet"
        written = aa.load_line_entries_to_parquet(client, ledger_ids, *DAYS, path, in_flight=in_flight, progress=False)
        amounts = pq.read_table(path, columns=["signed_amount"])["signed_amount"].cast(pa.decimal256(60, 2))
        return written.lines, str(pc.sum(amounts).as_py())


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
    """How many requests the server has answered."""
    with urllib.request.urlopen(f"{base_url}/requests") as response:  # noqa: S310 (our own server)
        return int(response.read())


def measured(python: str, program: str, base_url: str, ledgers: int, in_flight: int) -> dict[str, float | str]:
    """Run one program as its own process."""
    before, start = requests_of(base_url), time.perf_counter()
    command = [python, __file__, "--program", program, "--url", base_url]
    command += ["--ledgers", str(ledgers), "--in-flight", str(in_flight)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{program} failed")
    seconds = time.perf_counter() - start
    result = json.loads(output.splitlines()[-1])
    requests = requests_of(base_url) - before - 1
    return {"seconds": seconds, "peak": usage.ru_maxrss / 1024, "requests": requests, **result}


class Kernel:
    """A process that has done its imports and a small load, and then loads as often as it is told to.

    Parameters
    ----------
    program : str
        A name in :data:`PROGRAMS`.
    tree : Path, optional
        The working tree to import from; by default what this interpreter imports.
    python : str, optional
        The interpreter, by default this one.
    """

    def __init__(self, program: str, tree: Path | None = None, python: str = sys.executable) -> None:
        environment = os.environ | ({} if tree is None else {"PYTHONPATH": str(tree)})
        command = [python, __file__, "--program", program, "--kernel"]
        self._process = subprocess.Popen(  # noqa: S603 (this very file)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.wait()

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
    title: str,
    books: tuple[int, int, float, float],
    programs: dict[str, tuple[str, Path | None]],
    rounds: int,
    in_flight: int,
) -> None:
    """Load with programs in turn in running kernels, and print medians; the ratio is to the first, round by round."""
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    with ExitStack() as stack:
        base_url, truth = stack.enter_context(page_server(*books))
        warm_up, _ = stack.enter_context(page_server(2000, 1, 1.0, 0))
        kernels = {name: stack.enter_context(Kernel(*program)) for name, program in programs.items()}
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
    """Ids of the ledgers that the server has."""
    return [f"led_{number}" for number in range(count)]


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
    """Print the processor time to decode a page with all nested objects."""
    import pandas as pd  # noqa: PLC0415 (the programs above import what they need themselves)
    from page_server import make_ledgers  # noqa: PLC0415

    from accounting_analytics.client import strict_json  # noqa: PLC0415
    from accounting_analytics.client.records import LineEntryPage  # noqa: PLC0415
    from accounting_analytics.loading.pages import decode_fast, decode_strictly  # noqa: PLC0415

    served, _ = make_ledgers(PAGES_DECODED * 1000, 1, 1.0)
    records = served["led_0"][1]
    tail = b'],"next_page_token":"t","prev_page_token":null}'
    starts = range(0, len(records), 1000)
    pages = [b'{"records":[' + b",".join(records[at : at + 1000]) + tail for at in starts]
    requested = {"ledger_id": "led_0", "expand": frozenset(EXPAND.split(",")), "scale": 2}
    decoders = {
        "fast decoder": lambda page: decode_fast(page, **requested).table,
        "strict decoder": lambda page: (
            decode_strictly(strict_json.decode(page, LineEntryPage), "page", **requested).table
        ),
        "json_normalize": lambda page: pd.json_normalize(json.loads(page)["records"]),
    }
    took: dict[str, list[float]] = {name: [] for name in decoders}
    for _ in range(rounds):
        for name, decode in decoders.items():
            start = time.thread_time()
            kept = [decode(page) for page in pages]  # as a load keeps them
            took[name].append((time.thread_time() - start) / len(pages))
            del kept
    print(f"\ndecoding a page of 1,000 lines, {len(pages[0]) / 1e6:.2f} MB, on one core: {rounds} round(s), medians")
    slowest = took["json_normalize"]
    for name, seconds in took.items():
        ratio = statistics.median(slow / fast for slow, fast in zip(slowest, seconds, strict=True))
        print(f"{name:18}{statistics.median(seconds) * 1000:9.2f} ms{ratio:7.1f}x json.loads + json_normalize")


def main() -> None:
    """Compare, or be one of the processes compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dlt", help="interpreter of an environment that has dlt")
    parser.add_argument("--growth", action="store_true", help="only the growth table")
    parser.add_argument("--decoding", action="store_true", help="only the table of decoding")
    parser.add_argument("--kernel", action="store_true", help="only the tables of running kernels")
    parser.add_argument("--against", type=Path, help="with --kernel: a working tree of another commit to compare with")
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--url")
    parser.add_argument("--ledgers", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=8)
    options = parser.parse_args()
    if options.program and options.kernel:
        serve_loads(options.program)
    elif options.program:
        lines, total = PROGRAMS[options.program](options.url, ledger_names(options.ledgers), options.in_flight)
        print(json.dumps({"lines": lines, "sum": total}))
    elif options.decoding:
        decoding(options.rounds)
    elif options.against:
        kernel_tables_of_two_trees(options)
    elif options.kernel:
        kernel_tables(options)
    elif options.growth:
        growth_tables()
    else:
        # in a process of its own: the peak memory of the programs counts from what this one needs
        command = [sys.executable, __file__, "--decoding", "--rounds", str(max(options.rounds, 3))]
        subprocess.run(command, check=True)  # noqa: S603 (this very file)
        kernel_tables(options)
        process_tables(options)
        growth_tables()


def fast_pages(lines: int) -> tuple[str, tuple[int, int, float, float]]:
    """Title and books of the table with 20 ms a page."""
    return f"{lines:,} lines of one ledger, 20 ms a page", (lines, 1, 1.0, 20)


def slow_pages(lines: int) -> tuple[str, tuple[int, int, float, float]]:
    """Title and books of the table with 200 ms a page."""
    title = f"{lines:,} lines, 4 in 5 of them in one of 20 ledgers, 200 ms a page, 32 in flight"
    return title, (lines, 20, 0.81, 200)


def kernel_tables(options: argparse.Namespace) -> None:
    """Compare with a loop by hand in running kernels."""
    programs = {program: (program, None) for program in ("ours", "ours to Parquet", "by hand")}
    compare_in_kernels(*fast_pages(options.lines), programs, options.rounds, 8)
    programs.pop("ours to Parquet")
    compare_in_kernels(*slow_pages(options.lines), programs, 1, 32)


def kernel_tables_of_two_trees(options: argparse.Namespace) -> None:
    """Compare two commits in running kernels."""
    trees = {"this tree": Path(__file__).parents[2], "the other": options.against.resolve()}
    cases = [("ours", 8, fast_pages), ("ours to Parquet", 8, fast_pages), ("ours", 32, slow_pages)]
    for program, in_flight, pages in cases:
        title, books = pages(options.lines)
        programs = {name: (program, tree) for name, tree in trees.items()}
        compare_in_kernels(f"{program}: {title}", books, programs, options.rounds, in_flight)


def process_tables(options: argparse.Namespace) -> None:
    """Compare with a loop by hand and with dlt as whole processes."""
    programs = dict.fromkeys(["ours", "ours to Parquet", "by hand"], sys.executable)
    if options.dlt:
        programs["dlt"] = options.dlt
    else:
        print("dlt is not measured: give --dlt PYTHON, the interpreter of an environment that has it")
    compare(*fast_pages(options.lines), programs, options.rounds, 8)
    compare(*slow_pages(options.lines), {name: programs[name] for name in ("ours", "by hand")}, 1, 32)


def growth_tables() -> None:
    """Show how time and memory grow with the number of lines."""
    for lines in (10_000, 100_000, 1_000_000):
        programs = dict.fromkeys(("ours", "ours to Parquet"), sys.executable)
        compare(f"growth: {lines:,} lines of one ledger, 20 ms a page", (lines, 1, 1.0, 20), programs, 1, 8)


if __name__ == "__main__":
    main()
