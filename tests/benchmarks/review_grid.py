"""Milliseconds of the review grid in Chromium with 5,000 and 100,000 transactions, against a plain table of them.

    python tests/benchmarks/review_grid.py [--counts 5000 100000]

The books are those of ``noisy_books.py``, all uncategorized; every action is done by the script of the grid in the
page, and the answers come from the record. A frame is the time from one drawn screen to the next while it is scrolled.
The plain table has one row of five cells per transaction. Prints medians and asserts nothing.
"""

import argparse
import datetime as dt
import json
import runpy
import sys
import tempfile
import time
from pathlib import Path

import accounting_analytics as aa

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / name) for name in ("browser", "review_grid")]
from chromium_and_jupyterlab import Browser  # noqa: E402 (of the tests)
from grid_page import GRID, GridPage  # noqa: E402

NOISY = runpy.run_path(str(FOLDER / "noisy_books.py"))
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))
ROUNDS = 7
INPUT = "new Event('input')"
DRAWN = "document.body.offsetHeight"
ACTIONS = {
    "search a word, first": f"(one => {{ one.value = 'the'; one.dispatchEvent({INPUT}) }})"
    f"({GRID}.querySelector('.search'))",
    "search a word": f"(one => {{ one.value = one.value === 'inc' ? 'the' : 'inc'; one.dispatchEvent({INPUT}) }})"
    f"({GRID}.querySelector('.search'))",
    "search nothing": f"(one => {{ one.value = ''; one.dispatchEvent({INPUT}) }})({GRID}.querySelector('.search'))",
    "sort by payee": f"{GRID}.querySelectorAll('.head button')[0].click()",
    "sort by category": f"{GRID}.querySelectorAll('.head button')[3].click()",
    "unfold a group": f"{GRID}.querySelector('.fold').click()",
    "tick a group": f"{GRID}.querySelector('.body .tick').click()",
    "tick all": f"{GRID}.querySelector('.head .tick').click()",
}
FRAME_TIMES = f"""new Promise((resolve) => {{
  const grid = {GRID}.querySelector('[role=grid]');
  const times = [];
  let before = performance.now();
  const step = () => {{
    const now = performance.now();
    times.push(now - before);
    before = now;
    grid.scrollTop += 400;
    if (times.length < 80) requestAnimationFrame(step);
    else resolve(times.slice(5).sort((one, other) => one - other));
  }};
  requestAnimationFrame(step);
}})"""
PLAIN_TABLE = f"""(rows => {{
  const began = performance.now();
  const place = document.body.appendChild(document.createElement('div'));
  const cells = (row) => row.map((text) => `<td>${{text}}</td>`).join('');
  place.innerHTML = `<table>${{rows.map((row) => `<tr>${{cells(row)}}</tr>`).join('')}}</table>`;
  {DRAWN};
  const taken = performance.now() - began;
  place.remove();
  return taken;
}})"""


def make_queue(count):
    """Return a queue of so many transactions, and its ledgers."""
    payments = NOISY["make_payments"](11, rows_per_month=round(count / 24))[:count]
    books = FRAMES["frames"](payments, dt.date.min)
    return aa.uncategorized_queue(books.line_entries, books.ledgers), books.ledgers


def median(values):
    """Return the middle value."""
    return sorted(values)[len(values) // 2]


def timed(browser, action):
    """Return the milliseconds of an action in the page, until its elements are laid out."""
    return browser.evaluate(
        f"(() => {{ const began = performance.now(); {action}; {DRAWN}; return performance.now() - began }})()"
    )


def show(name, milliseconds):
    """Print a measurement."""
    print(f"  {name:48} {milliseconds:9.1f} ms")


def measure(browser, folder, count):
    """Print what the grid of so many transactions takes."""
    queue, ledgers = make_queue(count)
    began = time.perf_counter()
    review = aa.review(queue, ledgers)
    reviewed = time.perf_counter()
    page = GridPage(browser, folder, review)
    made = time.perf_counter()
    print(f"{len(queue):,} transactions in {len(review.frame):,} groups, {len(page.widget._columns) / 1e6:.1f} MB")
    show("kernel: the record", 1000 * (reviewed - began))
    show("kernel: its columns", 1000 * (made - reviewed))
    page.open()
    first = browser.evaluate("window.shownAfter")
    show("browser: read the columns and draw", first)
    for name, action in ACTIONS.items():
        rounds = 1 if name.endswith("first") else ROUNDS
        show(f"browser: {name}", median([timed(browser, action) for _ in range(rounds)]))
    frames = browser.evaluate(FRAME_TIMES)
    show("browser: frame while scrolling, median", median(frames))
    show("browser: frame while scrolling, longest of 75", frames[-1])
    page.click(".head button", "Amount")
    for name, row in (("one group", ".body .row .merchant .first"), ("all", ".head .tick")):
        page.click(row)
        page.type("meals")
        began = time.perf_counter()
        page.press("Enter")
        show(f"both: a category for {name}, with its answer", 1000 * (time.perf_counter() - began))
    rows = queue[["description", "ledger_name", "datetime", "amount", "direction"]].astype(str).to_numpy().tolist()
    plain = browser.evaluate(f"{PLAIN_TABLE}({json.dumps(rows)})")
    show("a plain table of all rows", plain)
    print(f"  {'first draw of the grid: times faster':48} {plain / first:9.1f}")


def main():
    """Measure each count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="*", default=[5_000, 100_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder) / "profile")
        for count in options.counts:
            measure(browser, Path(folder), count)
        browser.close()


if __name__ == "__main__":
    main()
