"""Decisions, minutes and errors to clear 5,000 uncategorized transactions in the review grid, against a sheet.

    python tests/benchmarks/review_decisions.py [--seeds 11 12] [--typed 100]

A script works in Chromium as a person would who knows which category most money of a payee belongs to: accept all that
is proposed, type a category for each of the largest groups left, then tick all groups of one category and type it
once. A decision is one category entered, or one tick-all accepted. In the sheet of `queue --output` it is one category
for each group. The books are those of ``noisy_books.py``; those with little past have one categorized month before the
seven that are not, the others 23.

Minutes are those of a person: 6 seconds to read a group and type its category, in the grid as in the sheet, 0.5 to pass
a row that is not ticked, 1.5 to tick one, 10 for what is done to the whole list. Errors are transactions whose category
is not the true one.
"""

import argparse
import runpy
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import accounting_analytics as aa

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / name) for name in ("browser", "recategorization/grid")]
from chromium_and_jupyterlab import Browser  # noqa: E402 (of the tests)
from grid_page import GRID, GridPage  # noqa: E402

NOISY = runpy.run_path(str(FOLDER / "noisy_books.py"))
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))
ROWS_PER_MONTH, LONG_PAST, LITTLE_PAST = 600, 23, 1
"""Payments of a month, and the months that are categorized."""
ASKED_MONTHS = 7
TYPED, PASSED, TICKED, WHOLE = 6, 0.5, 1.5, 10  # seconds of a person
KEY = "row => [...row.querySelectorAll('.merchant span, .amount .first')].map(one => one.textContent).join('|')"


def noisy_books(seed, past):
    """Return queue, ledgers, history and truth of books whose last months are uncategorized."""
    payments = NOISY["make_payments"](seed, months=past + ASKED_MONTHS, rows_per_month=ROWS_PER_MONTH)
    books = FRAMES["frames"](payments, NOISY["month_start"](past))
    queue = aa.uncategorized_queue(books.line_entries, books.ledgers)
    return queue, books.ledgers, books.line_entries, books.truth


class Person:
    """Someone who works in the grid, and knows the category of most money of each group."""

    def __init__(self, page, review, truth):
        self.page, self.record, self.truth = page, review, truth
        self.decisions, self.seconds = 0, 0.0

    def known(self):
        """Return the name of the true category of each group that is open, by the texts of its row."""
        record, found = self.record, {}
        ids = record.rows["transaction_id"].tolist()
        for group in record.groups.values():
            rows = [row for row in group if row not in record.chosen]
            if rows and record.rows["kind"][rows[0]] != "split":
                sizes = Counter()
                for row in rows:
                    sizes[self.truth[ids[row]]] += abs(record.units[row])
                account = record.rows["ledger_name"][rows[0]]
                amount = record.amount(sum(record.units[row] for row in rows))
                found[record.rows["merchant"][rows[0]], account, amount] = record.chart.names.name(
                    sizes.most_common(1)[0][0]
                )
        return found

    def rows(self):
        """Return merchant, account and amount of the rows in sight, and the number of the first."""
        texts = self.page.browser.evaluate(f"[...{GRID}.querySelectorAll('.body .row.group')].map({KEY})")
        found = []
        for text in texts:
            merchant, account, amount = text.rsplit("|", 2)
            found.append((merchant, account.split(" \N{MIDDLE DOT} ")[-1].split(" \N{LEFT RIGHT ARROW} ")[0], amount))
        return found

    def enter(self, category):
        """Type a category until it is the first choice, and press Enter."""
        for count in range(2, len(category) + 1):
            self.page.type(category[:count] if count == 2 else category[count - 1])
            if self.page.texts(".choices li")[:1] and self.page.texts(".choices .name")[0] == category:
                break
        self.page.press("Enter")
        self.decisions += 1

    def show(self, state):
        """Choose which rows are shown."""
        select = f"{GRID}.querySelector('select[aria-label=Show]')"
        self.page.browser.evaluate(f"({select}.value = '{state}', {select}.dispatchEvent(new Event('change')))")
        self.seconds += WHOLE

    def accept_all(self):
        """Accept all that is proposed."""
        self.show("proposed")
        if self.rows():
            self.page.click(".head .tick")
            self.page.click(".bar button", "Accept")
            self.decisions += 1

    def type_largest(self, count):
        """Type the category of each of the largest groups that are left."""
        self.show("open")
        self.page.browser.evaluate(f"{GRID}.querySelector('[role=grid]').focus()")
        for _ in range(count):
            known, rows = self.known(), self.rows()
            if not rows or rows[0] not in known:
                return
            self.enter(known[rows[0]])
            self.seconds += TYPED

    def tick_each_category(self):
        """Tick all groups of a category, from the top to the end of the list, and type it once."""
        while known := self.known():
            category = Counter(known.values()).most_common(1)[0][0]
            self.page.press("Home")
            passed = set()
            while new := [one for one in self.rows() if one not in passed]:
                for key in new:
                    passed.add(key)
                    if known.get(key) == category:
                        self.tick(key)
                    else:
                        self.seconds += PASSED
                self.page.browser.evaluate(f"{GRID}.querySelector('[role=grid]').scrollTop += 440")
                self.page.browser.evaluate("new Promise(requestAnimationFrame)")
            self.enter(category)
            self.seconds += TYPED

    def tick(self, key):
        """Click the box of a row."""
        row = f"[...{GRID}.querySelectorAll('.body .row.group')].find(row => ({KEY})(row).startsWith({key[0]!r}) "
        self.page.browser.evaluate(f"{row}&& ({KEY})(row).endsWith({'|' + key[2]!r})).querySelector('.tick').click()")
        self.seconds += TICKED


def wrong(proposals, truth):
    """Count the decided transactions whose category is not the true one."""
    columns = (proposals["transaction_id"], proposals["updated_category_ledger_id"])
    return sum(truth[one] != category for one, category in zip(*columns, strict=True))


def clear(browser, folder, books, typed):
    """Clear a queue in the grid and in a sheet; print decisions, minutes and errors of both."""
    queue, ledgers, history, truth = books
    review = aa.review(queue, ledgers, history=history)
    page = GridPage(browser, Path(folder), review)
    page.open()
    person = Person(page, review, truth)
    by_group = person.known()
    began = time.perf_counter()
    person.accept_all()
    accepted = len(review.decisions)
    person.type_largest(typed)
    person.tick_each_category()
    taken = time.perf_counter() - began
    print(f"{len(queue):,} transactions in {len(review.frame):,} groups; {accepted:,} accepted with one decision")
    errors = wrong(review.decisions, truth)
    minutes = person.seconds / 60
    print(f"  grid:  {person.decisions:4} decisions, {minutes:5.1f} minutes, {errors:4} errors, {review.summary()}")
    print(f"         ({taken / 60:.1f} minutes of the script)")
    groups = aa.group_queue(queue)
    names = aa.LedgerNames.from_frame(ledgers)
    columns = (groups["group_id"], groups["merchant"], groups["ledger_name"], groups["amount"])
    known = {
        group: names.find(by_group[merchant, account, f"{amount:,.2f}"])
        for group, merchant, account, amount in zip(*columns, strict=True)
        if (merchant, account, f"{amount:,.2f}") in by_group
    }
    decided = aa.decide(queue, known, ledgers)
    print(
        f"  sheet: {len(known):4} decisions, {len(known) * TYPED / 60:5.1f} minutes, {wrong(decided, truth):4} errors"
    )


def main():
    """Clear the books of each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[11, 12])
    parser.add_argument("--typed", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder) / "profile")
        for seed in options.seeds:
            print(f"books with a long past, seed {seed}")
            clear(browser, folder, noisy_books(seed, LONG_PAST), options.typed)
        print("books with little past")
        clear(browser, folder, noisy_books(1, LITTLE_PAST), options.typed)
        browser.close()


if __name__ == "__main__":
    main()
