"""Measure how load, sync, reports, statements and export grow with the books, and write one page with pictures.

    python tests/benchmarks/growth.py [--sizes 10000 100000 1000000 10000000] [--rounds 3]
        [--only WORK ...]
    python tests/benchmarks/growth.py --from benchmarks-output/results.json

Runs on Linux. Each step is a process of its own, so that its peak memory is its own. The figures of every program are
compared with those of the others, to the cent, and the run stops where they differ. ``results.json`` is written after
each step, so that what an interrupted run has measured is kept; ``--from`` makes the page of it alone. PySpark runs on
a cluster of two workers here.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import growth_page
import load
import local_books
from spark_cluster import Cluster

import accounting_analytics as aa

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
HTTP_LIMIT, PEER_LIMIT = 1_000_000, 100_000
WARM_UP_LINES = 1000
ENGINES = ("pandas", "pyarrow", "polars", "duckdb", "pyspark")
LOADS = {"into a frame": "ours", "into Parquet": "ours to Parquet", "httpx by hand": "by hand"}
STEPS = {
    "report totals": (*ENGINES, "pandas by hand"),
    "report with lines": (*ENGINES, "pandas by hand"),
    "statements": (*ENGINES, "pandas by hand", "hledger"),
    "export": ("star schema", "pandas by hand"),
}
"""Programs of the works that read the books from Parquet."""
WORKS = ("load", "sync", *STEPS)
INEXACT = {"httpx by hand", "pandas by hand"}
"""Programs that sum amounts as floats: how much they are off is shown."""
PACKAGES = (
    "accounting_analytics",
    "pandas",
    "pyarrow",
    "polars",
    "duckdb",
    "pyspark",
    "narwhals",
    "httpx",
    "deltalake",
)


class Machine(NamedTuple):
    """What the programs of other people need and this machine may lack."""

    hledger: str | None
    spark: bool
    spark_master: str = ""

    @property
    def missing(self) -> dict[str, str]:
        """Programs that cannot be measured, and why."""
        reasons = {
            "hledger": "" if self.hledger else "not installed",
            "pyspark": "" if self.spark else "PySpark or Java is not installed",
        }
        return {program: reason for program, reason in reasons.items() if reason}


def run_loads(lines: int) -> Iterator[dict[str, Any]]:
    """Load from a local server, each program in a process that has done its imports and a small load."""
    with ExitStack() as stack:
        warm_up, _ = stack.enter_context(load.page_server(2000, 1, 1.0, 0))
        base_url, total = stack.enter_context(load.page_server(lines, 12, 0.45, 0))
        yield {"program": "the books", "figures": {"lines": str(lines), "sum of amounts": total}}
        for program, name in LOADS.items():
            with load.Kernel(name) as kernel:
                kernel.load(warm_up, 1, 8)
                took = kernel.load(base_url, 12, 8)
            figures = {"lines": str(took["lines"]), "sum of amounts": str(took["sum"])}
            yield {"program": program, "seconds": took["seconds"], "peak_mb": took["peak"], "figures": figures}


def run_syncs(lines: int) -> Iterator[dict[str, Any]]:
    """Sync local books of 36 months with the embedded service, twice."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for step, took in local_books.measured_steps(folder, lines, 36):
            stored = aa.load_books(aa.LocalBooks.open(folder / "books"), engine="duckdb").lines
            yield {
                "program": step,
                "seconds": took["seconds"],
                "peak_mb": took["peak"],
                "bytes_a_line": local_books.stored_bytes(folder) / lines,
                "figures": figures_of(stored.aggregate("count(*), sum(amount)")),
            }
        written = duckdb.read_parquet(str(folder / "lines.in.parquet"))
        synced = written.filter(f"(datetime AT TIME ZONE 'UTC')::DATE <= '{local_books.last_day(36)}'")
        yield {"program": "the books", "figures": figures_of(synced.aggregate("count(*), sum(amount)"))}


def figures_of(counted: Any) -> dict[str, str]:
    """Return the count and the sum of a relation of DuckDB as text."""
    [(count, total)] = counted.fetchall()
    return {"lines": str(count), "sum of amounts": str(total)}


def run_steps(
    work: str, lines: int, folders: list[str], machine: Machine, *, with_spark: bool
) -> Iterator[dict[str, Any]]:
    """Run the programs of a work that read the books from Parquet; the folders are of few lines and of these."""
    for program in STEPS[work]:
        if program in machine.missing or (program == "hledger" and lines > PEER_LIMIT):
            continue
        if program == "pyspark" and not with_spark:
            continue
        command = [sys.executable, str(Path(__file__).with_name("growth_steps.py")), work, program, *folders]
        command += [machine.spark_master] if program == "pyspark" else []
        ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own)
        if ran.returncode:
            sys.exit(f"{program} failed at {work} of {lines:,} lines:\n{ran.stderr}")
        yield {"program": program, **json.loads(ran.stdout.splitlines()[-1])}


def check(work: str, lines: int, runs: list[dict[str, Any]]) -> None:
    """Stop where two programs have different figures; sums of floats may be off by a billionth."""
    for name in sorted({name for run in runs for name in run["figures"]}):
        stated = {run["program"]: run["figures"][name] for run in runs if name in run["figures"]}
        exact = {program: figure for program, figure in stated.items() if program not in INEXACT}
        expected = next(iter(exact.values()))
        wrong = {program for program, figure in stated.items() if figure != expected}
        if wrong - INEXACT or any(not nearly(stated[program], expected) for program in wrong):
            told = "".join(f"\n  {program}: {figure}" for program, figure in stated.items())
            sys.exit(f"{work} of {lines:,} lines: the programs have different figures, {name}:{told}")


def nearly(figure: str, expected: str) -> bool:
    """Whether two amounts differ by no more than a billionth."""
    try:
        return abs(Decimal(figure) - Decimal(expected)) <= abs(Decimal(expected)) * Decimal("1e-9")
    except InvalidOperation:  # a digest
        return False


def describe_machine(machine: Machine) -> dict[str, Any]:
    """Return the machine and the versions of everything that is measured."""
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("model name")[2].partition("\n")[0].strip("\t :")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"Python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES if importlib.util.find_spec(name)}
    if machine.hledger:
        printed = subprocess.run([machine.hledger, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
        versions["hledger"] = printed.strip().removeprefix("hledger ").partition(",")[0]
    if machine.spark:
        printed = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr  # noqa: S607
        versions["Java"] = printed.split('"')[1]
    system = f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GB of memory, {platform.system()} {platform.release()}"
    return {"system": system, "versions": versions, "date": dt.datetime.now(dt.UTC).date().isoformat()}


def rounds_of(work: str, lines: int, rounds: int) -> int:
    """Return how often a step is repeated: what takes minutes is measured once."""
    most = {"sync": 0, "load": 100_000}.get(work, 1_000_000)
    return rounds if lines <= most else 1


def run_round(work: str, lines: int, folders: list[str], machine: Machine, number: int) -> Iterator[dict[str, Any]]:
    """Run the programs of a work in turn; Spark, whose start takes longest, in the first round only."""
    if work == "load":
        return run_loads(lines)
    if work == "sync":
        return run_syncs(lines)
    return run_steps(work, lines, folders, machine, with_spark=number == 0)


def write_books(lines: int, folder: str) -> str:
    """Write books of five years into a folder; return it."""
    command = [sys.executable, str(Path(__file__).with_name("recompute.py")), "--write", "--lines", str(lines)]
    subprocess.run([*command, "--folder", folder], check=True)  # noqa: S603 (our own)
    return folder


def measure(options: argparse.Namespace, machine: Machine, results: Path) -> None:
    """Run every step and keep what it took."""
    measured: dict[str, Any] = {"machine": describe_machine(machine), "missing": machine.missing, "runs": []}
    from_parquet = set(options.only) & set(STEPS)
    with ExitStack() as stack:
        few = stack.enter_context(tempfile.TemporaryDirectory())
        if from_parquet:
            write_books(WARM_UP_LINES, few)
        if from_parquet - {"export"} and machine.spark:
            logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            cluster = stack.enter_context(Cluster(logs, worker_memory="1700m"))
            machine = machine._replace(spark_master=cluster.address)
        for lines in options.sizes:
            with tempfile.TemporaryDirectory() as name:
                if from_parquet:
                    write_books(lines, name)
                for work in options.only:
                    if work not in STEPS and lines > HTTP_LIMIT:
                        continue
                    for number in range(rounds_of(work, lines, options.rounds)):
                        made = []
                        for run in run_round(work, lines, [few, name], machine, number):
                            made.append({"work": work, "lines": lines, **run})
                            measured["runs"].append(made[-1])
                            if "seconds" in run:
                                shown = f"{run['seconds']:8.2f} s {run['peak_mb']:7,.0f} MB"
                                print(f"{work:18} {run['program']:20} {lines:12,} lines {shown}", flush=True)
                            results.write_text(json.dumps(measured, indent=1), encoding="utf-8")
                        check(work, lines, made)


def main() -> None:
    """Measure and write the page, or only write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="LINES")
    parser.add_argument("--rounds", type=int, default=3, help="once where a step takes minutes")
    parser.add_argument("--only", nargs="+", choices=WORKS, default=WORKS, metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--output", type=Path, default=Path("benchmarks-output"))
    parser.add_argument("--from", dest="results", type=Path, metavar="RESULTS", help="write the page of these results")
    options = parser.parse_args()
    results = options.results
    if results is None:
        spark = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
        options.output.mkdir(parents=True, exist_ok=True)
        results = options.output / "results.json"
        measure(options, Machine(shutil.which("hledger"), spark), results)
    page = growth_page.write_page(json.loads(results.read_text(encoding="utf-8")), options.output)
    print(f"the page: {page}")


if __name__ == "__main__":
    main()
