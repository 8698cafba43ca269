"""Measure the check of a pack with many entries: in Python, in a browser, and by naive sums.

Run ``python tests/benchmarks/packs.py [--lines 50000]``. The pack has 100 ledgers and 13 months with their changes and
a year's total in three tables. The browser opens the page as a file; its seconds are from the press of the button to
the result. "naive" sums the lines of each figure one by one, for as many figures as fit into 10 seconds.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent
FIRST, LAST = dt.date(2025, 5, 1), dt.date(2026, 5, 31)
LEDGERS = 100
RESULT = "document.querySelector('.pack-check-result')"


def month_days() -> dict[str, tuple[str, str]]:
    """First and last day of each month by its name."""
    starts = [dt.date(2025 + (month > 12), (month - 1) % 12 + 1, 1) for month in range(5, 19)]
    ends = [following - dt.timedelta(days=1) for following in starts[1:]]
    return {str(start)[:7]: (str(start), str(end)) for start, end in zip(starts, ends, strict=False)}


def make_entries(count: int) -> dict:
    """Return balanced entries of two lines, of days and ledgers by chance."""
    chance = random.Random(0)  # noqa: S311 (the same books in each run)
    dates = [str(FIRST + dt.timedelta(days=number)) for number in range((LAST - FIRST).days + 1)]
    texts = [f"Card purchase, MERCHANT {number} 800-295-{chance.randint(1000, 9999)}" for number in range(count // 3)]
    lines = []
    for entry in range(count // 2):
        date, text, units = chance.randrange(len(dates)), chance.randrange(len(texts)), chance.randint(-(10**6), 10**6)
        lines.append([0, date, 0, text, 0, -units, entry])
        lines.append([chance.randrange(1, LEDGERS), date, 1, text, 0, units, entry])
    lines.sort(key=lambda line: line[1])
    return {"ledgers": [f"Ledger {n}" for n in range(LEDGERS)], "texts": texts, "dates": dates, "lines": lines}


def make_record() -> dict:
    """Return the record of three tables of all ledgers."""
    months = month_days()
    pairs = list(zip(months, list(months)[1:], strict=False))
    spans = {name: [[1, *days]] for name, days in months.items()}
    spans |= {f"{name} change": [[1, *months[name]], [-1, *months[earlier]]] for earlier, name in pairs}
    spans["total"] = [[1, str(FIRST), str(LAST)]]
    balances = {name: [[1, "", days[1]]] for name, days in months.items()}
    rows = {f"l{number}": [-1, "flow", [number]] for number in range(1, LEDGERS)} | {
        "all": [-1, "flow", list(range(1, LEDGERS))]
    }

    def table(measure: str, columns: dict) -> dict:
        of_measure = {key: [factor, measure, ledgers] for key, (factor, _, ledgers) in rows.items()}
        shown = {"rows": list(rows), "columns": list(columns)}
        return {"rows": of_measure, "days": {measure: columns}, "shown": shown}

    return {
        "format": 1,
        "company": "Benchmark",
        "currency": "USD",
        "scale": 2,
        "start_date": "2026-05-01",
        "end_date": str(LAST),
        "time_zone": "UTC",
        "created_at": "2026-06-01T00:00:00Z",
        "verdict": "cash flow proven",
        "tables": {
            "flows": table("flow", spans),
            "movements": table("movement", spans),
            "balances": table("balance", balances),
        },
    }


def page_of(record: dict, entries: dict) -> str:
    """Return the page of a record, whose figures are those of the check itself."""
    import msgspec  # noqa: PLC0415

    from accounting_analytics.pack_verification import check_script, check_section, check_style, pack_data  # noqa: PLC0415
    from accounting_analytics.pack_verification.pack_data import PackEntries, PackLine, PackRecord  # noqa: PLC0415
    from accounting_analytics.pack_verification.recomputation import Recomputation  # noqa: PLC0415
    from accounting_analytics.pack_verification.shown_text import value_text  # noqa: PLC0415

    lines = [PackLine(*line) for line in entries["lines"]]
    figures = Recomputation(msgspec.convert(record, PackRecord), PackEntries(**(entries | {"lines": lines})))
    tables = []
    for name, table in record["tables"].items():
        cells = [
            "".join(
                f'<td data-key="{row}|{column}">{value_text(figures.value(name, f"{row}|{column}"))}</td>'
                for column in table["shown"]["columns"]
            )
            for row in table["shown"]["rows"]
        ]
        body = "".join(f"<tr>{of_row}</tr>" for of_row in cells)
        tables.append(f'<table data-table="{name}"><tbody>{body}</tbody></table>')
    facts = ("company", "currency", "start_date", "end_date", "verdict")
    shown = "".join(f'<p data-field="{name}">{record[name]}</p>' for name in facts)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Pack</title><style>{check_style()}</style>'
        f'<script type="module">{check_script()}</script></head><body>{shown}{"".join(tables)}{check_section()}'
        f"{pack_data(record, entries)}</body></html>"
    )


def measure_browser(path: Path, fingerprint: str) -> tuple[float, str]:
    """Seconds from the press to the result, and what it says."""
    sys.path.insert(0, str(TESTS / "browser"))
    from chromium_and_jupyterlab import Browser  # noqa: PLC0415 (needs chromium)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        browser.open(path.as_uri())
        browser.evaluate(f"document.querySelector('#pack-check input').value = '{fingerprint}'")
        seconds = browser.evaluate(
            "new Promise(resolve => { const start = performance.now();"
            f"new MutationObserver(() => {RESULT}.matches('.passed, .failed') && resolve(performance.now() - start))"
            f".observe({RESULT}, {{attributes: true}}); document.querySelector('#pack-check button').click() }})"
        )
        said = browser.evaluate(f"{RESULT}.innerText")
        browser.close()
    return seconds / 1000, said


def measure_naive(record: dict, entries: dict, seconds: float = 10) -> float:
    """Seconds for each figure whose lines are summed one by one."""
    start, count = time.perf_counter(), 0
    for table in record["tables"].values():
        for factor, measure, ledgers in table["rows"].values():
            for spans in table["days"][measure].values():
                _ = factor * sum(
                    span[0] * line[5]
                    for span in spans
                    for line in entries["lines"]
                    if line[0] in ledgers and span[1] <= entries["dates"][line[1]] <= span[2]
                )
                count += 1
                if time.perf_counter() - start > seconds:
                    return (time.perf_counter() - start) / count
    return (time.perf_counter() - start) / count


def main() -> None:
    """Print the sizes and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=50_000)
    options = parser.parse_args()
    import accounting_analytics as aa  # noqa: PLC0415
    from accounting_analytics.pack_verification import seal  # noqa: PLC0415

    record, entries = make_record(), make_entries(options.lines)
    html = page_of(record, entries)
    start = time.perf_counter()
    sealed = seal(html)
    print(f"page of {len(sealed.text.encode()) / 1e6:.2f} MB, sealed in {time.perf_counter() - start:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pack.html")
        path.write_text(sealed.text, encoding="utf-8", newline="\n")
        start = time.perf_counter()
        result = aa.verify_pack(path, fingerprint=sealed.fingerprint)
        python = time.perf_counter() - start
        browser, said = measure_browser(path, sealed.fingerprint)
    naive = measure_naive(record, entries) * result.figures
    print(f"verify_pack: {result.figures:,} figures from {result.entries:,} entries, {len(result.faults)} faults")
    print(f"browser: {said.splitlines()[0]}")
    for name, seconds in (("verify_pack", python), ("browser", browser), ("naive", naive)):
        print(f"{name:12} {seconds:8.2f} s  {naive / seconds:8.1f} times as fast as naive sums")


if __name__ == "__main__":
    main()
