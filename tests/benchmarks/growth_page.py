"""Write the page of ``growth.py`` from its results: pictures, tables, and what they mean in words."""

from __future__ import annotations

import io
import math
import statistics
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import matplotlib as mpl
from markupsafe import Markup

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

TITLES = {
    "load": "Load over HTTP",
    "sync": "Sync of local books",
    "report totals": "Cash flow report, totals",
    "report with lines": "Cash flow report, with its lines",
    "statements": "Statements",
    "export": "Export",
}
TEXTS = {
    "load": (
        "All line entries of 12 ledgers, 45 in 100 of them in one, from a local server that responds at once, into a "
        "pandas frame or a Parquet file. By hand is a loop with httpx and json_normalize."
    ),
    "sync": (
        "Local books of 36 months and 204 ledgers from the embedded service. The first sync reads every line and has "
        "each month proven by the service's report; a sync without changes reads the reports only. A few hundred "
        "requests are needed however small the books are."
    ),
    "report totals": (
        "From the Parquet file of five years to every figure of the report of one year, exact. By hand is what an "
        "analyst would write in pandas: merge, group and sum as floats, always with lines."
    ),
    "report with lines": "The same with the lines of the report as a pandas frame: a fifth of all lines, less cash.",
    "statements": (
        "Cash flow statement, income statement, balance sheet and trial balance of one year by month, from the Parquet "
        "file of five years. By hand is one pivot of pandas by ledger and month as floats; hledger is its balance by "
        "month from a journal. Both have neither sections nor totals nor a cash flow."
    ),
    "export": (
        "From frames in memory to a star schema in Parquet, a file for each month and table, with the verdict whether "
        "the report agrees. By hand is one to_parquet of the lines. Peak memory includes the frames."
    ),
}
NAMES = {"report totals": "report", "report with lines": "report with lines", "statements": "four statements"}
BY_HAND = ("pandas by hand", "httpx by hand")
COLOURS = ("#3d85d1", "#c67a2f", "#36a16b", "#845ad8", "#d05a8c", "#9a7d0a")
OTHERS = {"pandas by hand": "#8a939e", "httpx by hand": "#8a939e", "hledger": "#b5654a"}
MARKERS = "os^DvP"
INK = "#010203"
"""Stands for the colour of text of the page."""


class Measured(NamedTuple):
    """What the runs of a program took, by number of lines: medians."""

    program: str
    seconds: dict[int, float]
    peak_mb: dict[int, float]
    java_mb: dict[int, float]
    java_idle_mb: dict[int, float]
    bytes_a_line: dict[int, float]

    @property
    def exponent(self) -> float | None:
        """Exponent of the seconds over the last three sizes."""
        return growth_exponent(dict(sorted(self.seconds.items())[-3:]))

    @property
    def memory_a_line(self) -> float | None:
        """Bytes of peak memory by which the last size exceeds the one before, for each line more."""
        sizes = sorted(self.peak_mb)[-2:]
        if len(sizes) < 2:
            return None
        total = {size: self.peak_mb[size] + self.java_mb.get(size, 0) for size in sizes}
        return (total[sizes[1]] - total[sizes[0]]) * 2**20 / (sizes[1] - sizes[0])


def growth_exponent(seconds: dict[int, float]) -> float | None:
    """Return the slope of a least squares line through the logarithms: 1 where time grows as the lines do."""
    if len(seconds) < 2:
        return None
    return statistics.linear_regression(
        [math.log(size) for size in seconds], [math.log(took) for took in seconds.values()]
    ).slope


def measured_programs(runs: list[dict[str, Any]]) -> list[Measured]:
    """Return the medians of the programs of a work, in their order."""
    programs = list(dict.fromkeys(run["program"] for run in runs if "seconds" in run))

    def medians(program: str, field: str) -> dict[int, float]:
        taken: dict[int, list[float]] = {}
        for run in runs:
            if run["program"] == program and field in run:
                taken.setdefault(run["lines"], []).append(run[field])
        return {lines: statistics.median(values) for lines, values in sorted(taken.items())}

    fields = ("seconds", "peak_mb", "java_mb", "java_idle_mb", "bytes_a_line")
    return [Measured(program, *(medians(program, field) for field in fields)) for program in programs]


def short(number: float) -> str:
    """Write a number of lines as briefly as three digits allow."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.3g}"


def spoken_seconds(seconds: float) -> str:
    """Write seconds with three digits, small ones as milliseconds."""
    return f"{seconds:,.1f} s" if seconds >= 10 else f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def picture(name: str, unit: str, curves: dict[str, dict[int, float]]) -> Markup:
    """Draw curves by number of lines, both axes logarithmic, as an SVG element in the colours of the page."""
    style = {
        "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": name, "text.color": INK, "axes.edgecolor": INK,
        "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
        "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(5.4, 4.1), layout="constrained")
        colours = iter(zip(COLOURS, MARKERS, strict=True))
        for program, points in curves.items():
            other = OTHERS.get(program)
            colour, marker = (other, "x") if other else next(colours)
            axes.plot(
                list(points), list(points.values()), color=colour, marker=marker, markersize=5, linewidth=1.6,
                linestyle="--" if other else "-", label=program,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log", base=10 if unit == "seconds" else 2)
        axes.yaxis.set_major_locator(
            LogLocator(base=10, subs=(1, 2, 5)) if unit == "seconds" else LogLocator(base=2, subs=(1, 1.5))
        )
        axes.set_xticks(sorted({lines for points in curves.values() for lines in points}))
        for axis, write in (
            (axes.xaxis, short),
            (axes.yaxis, "{:g}".format if unit == "seconds" else "{:,.0f}".format),
        ):
            axis.set_major_formatter(FuncFormatter(lambda value, _, write=write: write(value)))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("line entries")
        axes.set_ylabel(unit)
        axes.grid(visible=True, which="major", alpha=0.2, color=INK, linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        plt.close(figure)
    drawn = file.getvalue()
    svg = drawn[drawn.index("<svg") :].replace(INK, "currentColor")
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{name}"', 1))  # noqa: S704 (drawn here)


def cells(values: dict[int, float], sizes: list[int], write: Any) -> list[str]:
    """Write the values of a row of a table, by size."""
    return [write(values[size]) if size in values else "" for size in sizes]


def ratios(program: Measured, by_hand: Measured | None, sizes: list[int]) -> list[str]:
    """Say of each size how many times as fast as by hand a program is."""
    if by_hand is None or program is by_hand:
        return ["" for _ in sizes]
    faster = {size: by_hand.seconds[size] / took for size, took in program.seconds.items() if size in by_hand.seconds}
    return cells(faster, sizes, lambda ratio: f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x")


def sentence(program: Measured, peers: list[Measured]) -> str:
    """Say what the largest size took, how that grows, and how it compares with other programs where both ran."""
    largest = max(program.seconds)
    texts = [f"{program.program}: {largest:,} lines in {spoken_seconds(program.seconds[largest])}"]
    if program.exponent is not None:
        texts.append(
            f"ten times the lines take {10**program.exponent:.1f} times as long (exponent {program.exponent:.2f})"
        )
    for peer in peers if program not in peers else ():
        size = max(program.seconds.keys() & peer.seconds.keys())
        ratio = peer.seconds[size] / program.seconds[size]
        at = "" if size == largest else f" at {size:,}"
        texts.append(
            f"{ratio:.1f} times as fast as {peer.program}{at}" if ratio >= 1
            else f"{peer.program}{at} takes {ratio:.2g} of the time"
        )  # fmt: skip
    return "; ".join(texts) + "."


def section(work: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    programs = measured_programs(runs)
    sizes = sorted({run["lines"] for run in runs})
    by_hand = next((one for one in programs if one.program in BY_HAND), None)
    memory = {}
    for one in programs:
        memory[f"{one.program}{', Python' if one.java_mb else ''}"] = one.peak_mb
        if one.java_mb:
            memory[f"{one.program}, Java"] = one.java_mb
    title = TITLES[work]
    repeated = {
        size: sum(run["lines"] == size and run["program"] == programs[0].program for run in runs) for size in sizes
    }
    return {
        "title": title,
        "text": TEXTS[work],
        "sizes": [short(size) for size in sizes],
        "by_hand": by_hand is not None,
        "rounds": ", ".join(f"{count} of {size:,}" for size, count in repeated.items()),
        "sentences": [sentence(one, [peer for peer in programs if peer.program in OTHERS]) for one in programs],
        "seconds_picture": picture(
            f"{title}: seconds by line entries", "seconds", {one.program: one.seconds for one in programs}
        ),
        "memory_picture": picture(f"{title}: peak memory by line entries", "peak memory in MB", memory),
        "rows": [
            {
                "program": one.program,
                "seconds": list(
                    zip(cells(one.seconds, sizes, spoken_seconds), ratios(one, by_hand, sizes), strict=True)
                ),
                "exponent": "" if one.exponent is None else f"{one.exponent:.2f}",
                "memory": [
                    " + ".join(text for text in both if text)
                    for both in zip(
                        cells(one.peak_mb, sizes, "{:,.0f}".format),
                        cells(one.java_mb, sizes, "{:,.0f}".format),
                        strict=True,
                    )
                ],
                "memory_a_line": "" if one.memory_a_line is None else f"{round(one.memory_a_line):,}",
                "bytes_a_line": [f"{size:,}: {size_bytes:.0f}" for size, size_bytes in one.bytes_a_line.items()],
            }
            for one in programs
        ],
        "stored": any(one.bytes_a_line for one in programs),
        "differences": differences(runs),
    }


def differences(runs: list[dict[str, Any]]) -> list[str]:
    """Say which figures of programs that sum floats are off."""
    found = []
    for run in runs:
        alike = [
            other
            for other in runs
            if other["lines"] == run["lines"] and other["program"] not in (run["program"], *OTHERS)
        ]
        for name, figure in run["figures"].items():
            exact = next((other["figures"][name] for other in alike if name in other["figures"]), figure)
            if figure != exact:
                found.append(f"{run['program']}, {run['lines']:,} lines: {name} {figure} in place of {exact}")
    return list(dict.fromkeys(found))


def agreement(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the largest books took by engine, whose figures were all found the same."""
    works = [work for work in NAMES if any(run["work"] == work for run in runs)]
    if not works:
        return None
    largest = max(run["lines"] for run in runs if run["work"] in works)
    last = {
        work: measured_programs([run for run in runs if (run["work"], run["lines"]) == (work, largest)])
        for work in works
    }
    engines = [one.program for one in last[works[0]] if one.program not in OTHERS]

    def peak(work: str, engine: str) -> str:
        one = next(one for one in last[work] if one.program == engine)
        java = f" (Java {one.java_mb[largest]:,.0f}, {one.java_idle_mb[largest]:,.0f} when idle)" if one.java_mb else ""
        return f"{one.peak_mb[largest]:,.0f}{java}"

    return {
        "lines": f"{largest:,}",
        "works": [NAMES[work] for work in works],
        "rows": [(engine, [peak(work, engine) for work in works]) for engine in engines],
    }


def write_page(results: dict[str, Any], folder: Path) -> Path:
    works = [work for work in TITLES if any(run["work"] == work for run in results["runs"])]
    folders = jinja2.FileSystemLoader(Path(__file__).parent)
    template = jinja2.Environment(loader=folders, autoescape=True, undefined=jinja2.StrictUndefined)
    sizes = sorted({run["lines"] for run in results["runs"]})
    html = template.get_template("growth_page.html.j2").render(
        sizes=[f"{size:,}" for size in sizes],
        machine=results["machine"],
        with_spark=any(run["program"] == "pyspark" for run in results["runs"]),
        missing=results["missing"],
        sections=[section(work, [run for run in results["runs"] if run["work"] == work]) for work in works],
        agreement=agreement(results["runs"]),
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "growth.html"
    path.write_text(html, encoding="utf-8")
    return path
