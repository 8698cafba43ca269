"""Precision, coverage, calibration and seconds of suggestions, on books of which every category is known.

    python tests/benchmarks/suggestions.py [--months 12] [--seeds 11 12 13 14 15]

Books: those of ``noisy_books.py`` for each seed, the demo company, and three years of beancount's ``bean-example``.
Each of the last months is made uncategorized in turn, as if the books ended with it. `suggest` gets that queue and the
months before; what it suggests is compared with the truth. Rules take what they match first. Prints a line per book,
and the seconds for 24,000 transactions.
"""

import argparse
import datetime as dt
import runpy
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import accounting_analytics as aa
from accounting_analytics.recategorization.queue import categorized_transactions
from accounting_analytics.recategorization.suggestions import lower_bound
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.service.database import Store
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.server import running

FOLDER = Path(__file__).parent
NOISY = runpy.run_path(str(FOLDER / "noisy_books.py"))
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))
PRECISION, POOLED_BELOW = 0.98, 100
UNCATEGORIZED = {"inflow": "asked_inflow", "outflow": "asked_outflow"}
"""Ledgers of what is made uncategorized, apart from those of the books."""
BEAN_DAYS = ("2022-01-01", "2024-12-31")
BEAN_CASH = ("Assets:US:BofA:Checking", "Assets:US:ETrade:Cash", "Liabilities:US:Chase:Slate")
RULES = """\
[[rule]]
name = "fuel"
regex = 'SUNOCO|SPEEDWAY|MARATHON|SHEETZ|CIRCLE K'
category = "Fuel"

[[rule]]
name = "payroll"
contains = "GUSTO PAY"
category = "Payroll"

[[rule]]
name = "lodging"
regex = 'HAMPTON INN|COURTYARD|SUPER 8|AIRBNB'
category = "Lodging"
direction = "outflow"
"""


class KnownBooks(NamedTuple):
    """Books in which all transactions have a category, and the truth about them by transaction id."""

    name: str
    line_entries: pd.DataFrame
    ledgers: pd.DataFrame
    time_zone: str
    truth: dict[str, str]
    payees: dict[str, str]
    rules: str


class Fold(NamedTuple):
    """Suggestions for a month: how many transactions there are, and how many suggestions were right.

    `rows` and `money` are what rules leave of payees that occurred before, without likely transfers, which are apart;
    `covered_rows` and `covered_money` are what of these has a suggestion.
    """

    month: pd.Period
    rows: int
    money: float
    covered_rows: int
    covered_money: float
    count: int
    right: int
    confidence: tuple[float, ...]
    was_right: tuple[bool, ...]
    note: str


def noisy(seed, **size):
    payments = NOISY["make_payments"](seed, **size)
    return of_payments(f"noisy {seed}", payments)


def of_payments(name, payments):
    books = FRAMES["frames"](payments, dt.date.max)
    payees = {f"txn_{number:06}": one.payee for number, one in enumerate(payments)}
    return KnownBooks(name, books.line_entries, books.ledgers, "UTC", books.truth, payees, RULES)


def known(name, books, rules):
    """Return loaded books whose truth are their own categories, and whose payees are merchants."""
    rows, lines = categorized_transactions(books, books.ledgers), books.lines
    lines.attrs.pop("load")  # some are left out and changed
    truth = dict(zip(rows["transaction_id"], rows["category_ledger_id"], strict=True))
    payees = dict(zip(rows["transaction_id"], merchants(rows["description"]), strict=True))
    return KnownBooks(name, lines, books.ledgers, books.time_zone, truth, payees, rules)


def load(client, first_day, last_day, zone):
    """Load the books of a client, with the lines of the ledgers that report cash flow."""
    ledgers = aa.discover_ledgers(client, first_day, last_day, time_zone=zone)
    cash = ledgers.loc[ledgers["report_cash_flow"], "id"]
    return aa.Books(aa.load_line_entries(client, cash, first_day, last_day, time_zone=zone), ledgers)


def demo():
    with aa.demo() as company:
        books = load(company.client, company.start_date, company.end_date, company.time_zone)
    rules = (FOLDER.parents[1] / "data" / "rules.toml").read_text(encoding="utf-8")
    return known("demo", books, rules)


@contextmanager
def bean_service(folder):
    """Serve three years of a person, as beancount generates them, and yield a client."""
    program, file = Path(sys.executable).with_name("bean-example"), folder / "books.beancount"
    days = ("--date-begin", BEAN_DAYS[0], "--date-end", BEAN_DAYS[1])
    subprocess.run([program, "--seed", "7", *days, "-o", file], check=True, capture_output=True)  # noqa: S603 (our own)
    with Store.open(folder / "books.db") as store:
        instance_id = create_instance(store)
        import_books(store, instance_id, file, cash=BEAN_CASH, commodity="USD", time_zone="UTC")
        token = issue_token(store, instance_id)
    with (
        running(folder / "books.db") as service,
        aa.LedgerClient(service.base_url, token=token, instance_id=instance_id) as client,
    ):
        yield client


def bean_example(folder):
    """Return the books of a person."""
    with bean_service(folder) as client:
        return known("bean-example", load(client, *BEAN_DAYS, "UTC"), "")


def folds(books, months, *, precision=PRECISION):
    days = local_months(books.line_entries)
    for month in sorted(days.unique())[-months:]:
        yield fold(books, days, month, precision)


def local_months(lines):
    return (lines["local_date"] if "local_date" in lines else lines["datetime"].dt.tz_localize(None)).dt.to_period("M")


def fold(books, days, month, precision=PRECISION):
    """Make a month uncategorized, and compare what is suggested with the truth."""
    history = as_of(books, days, month)
    queue = uncategorized(history)
    is_left = ~queue["transaction_id"].isin(by_rules(queue, books.rules, history))
    left = queue[is_left & queue["counterpart_ledger_id"].isna()]
    suggestions = aa.suggest(left, history, precision=precision)
    past = {books.payees.get(one) for one in books.line_entries["transaction_id"][days < month].dropna()}
    seen = left[[books.payees[one] in past for one in left["transaction_id"]]]
    covered = seen[seen["transaction_id"].isin(suggestions["transaction_id"])]
    right = suggestions["updated_category_ledger_id"] == suggestions["transaction_id"].map(books.truth)
    return Fold(
        month,
        len(seen),
        seen["transaction_amount"].abs().sum(),
        len(covered),
        covered["transaction_amount"].abs().sum(),
        len(suggestions),
        int(right.sum()),
        tuple(suggestions["confidence"]),
        tuple(right),
        aa.notes(suggestions)[0],
    )


def of_month(books, days, month):
    """Return the ids of the known transactions of a month."""
    return set(books.line_entries["transaction_id"][days == month].dropna()) & books.truth.keys()


def as_of(books, days, month):
    """Return the books up to a month, whose known transactions are uncategorized."""
    lines = books.line_entries[days <= month]
    ids = of_month(books, days, month)
    other = lines["debit_credit"].map({"debit": UNCATEGORIZED["inflow"], "credit": UNCATEGORIZED["outflow"]})
    is_asked = lines["transaction_id"].isin(ids)
    lines = lines.assign(opposing_ledger_ids=lines["opposing_ledger_ids"].where(~is_asked, other))
    return aa.Books(lines, books.ledgers, time_zone=books.time_zone)


def uncategorized(books):
    """Return the queue of the transactions that were made uncategorized."""
    given = {f"{direction}_ledger_id": one for direction, one in UNCATEGORIZED.items()}
    return aa.uncategorized_queue(books, **given)


def by_rules(queue, rules, books):
    """Return the ids of what the text of some rules matches."""
    if not rules or queue.empty:
        return set()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rules.toml"
        file.write_text(rules, encoding="utf-8")
        return set(aa.propose(queue, aa.load_rules(file), books)["transaction_id"])


def pooled(found):
    """Yield right ones and counts of folds; those under 100 suggestions are joined with the next ones."""
    right = count = 0
    for one in found:
        right, count = right + one.right, count + one.count
        if count >= POOLED_BELOW:
            yield right, count
            right = count = 0
    if count:
        yield right, count


def calibration_error(found, bins=5):
    """Return the mean distance between confidence and share of right ones, in bins of equally many suggestions."""
    confidence = np.array([one for fold in found for one in fold.confidence])
    right = np.array([one for fold in found for one in fold.was_right])
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return sum(len(part) * abs(confidence[part].mean() - right[part].mean()) for part in parts) / max(len(order), 1)


class Measurement(NamedTuple):
    """What the folds of one or all books show."""

    kept: int
    pooled: int
    silent: int
    right: int
    count: int
    rows: int
    covered_rows: float
    covered_money: float
    calibration_error: float


def measure(found):
    """Count the folds that kept the precision, and what suggestions cover."""
    kept = [1 - lower_bound(count - right, count) >= PRECISION for right, count in pooled(found)]
    count, rows = sum(one.count for one in found), sum(one.rows for one in found)
    return Measurement(
        sum(kept),
        len(kept),
        sum(not one.count for one in found),
        sum(one.right for one in found),
        count,
        rows,
        sum(one.covered_rows for one in found) / rows,
        sum(one.covered_money for one in found) / sum(one.money for one in found),
        calibration_error(found),
    )


def print_books(name, found):
    """Print the line of one or all books, and return what it shows."""
    one = measure(found)
    print(
        f"{name:14} kept {one.kept:3} of {one.pooled:3}, {one.silent} month(s) silent; {one.right:,} of {one.count:,} "
        f"right: {one.right / max(one.count, 1):.4f}; {one.covered_rows:.3f} of {one.rows:,} rows, "
        f"{one.covered_money:.3f} of money; calibration error {one.calibration_error:.4f}"
    )
    return one


def print_transfers(seeds):
    """Print how many of the likely transfers of a year, which are proposed apart, are transfers."""
    for seed in seeds:
        asked = FRAMES["frames"](NOISY["make_payments"](seed), NOISY["month_start"](NOISY["MONTHS"] - 12))
        books = aa.Books(asked.line_entries, asked.ledgers, time_zone="UTC")
        queue = aa.uncategorized_queue(books)
        found = aa.propose(queue, None, books, transfers=True)
        wanted = found["updated_category_ledger_id"]
        right = int((found["transaction_id"].map(asked.truth) == wanted).sum())
        every = sum(asked.truth[one] == wanted.iloc[0] for one in queue["transaction_id"])
        print(f"seed {seed}, likely transfers apart: {right} of {len(found)} right, of {every} transfers")


def print_changed_payees(seeds):
    """Print how often the old category is suggested to payees whose new one is in the history already."""
    wrong = asked = 0
    for seed in seeds:
        payments = NOISY["make_payments"](seed)
        books = of_payments("", payments)
        days = local_months(books.line_entries)
        turned = {}
        for number, one in enumerate(payments):
            if one.behaviour == "changes category":
                turned.setdefault((one.payee, one.amount > 0, one.category), number)
        late = {f"txn_{number:06}": one for number, one in enumerate(payments)}
        for month in sorted(days.unique())[-6:]:
            history = as_of(books, days, month)
            found = aa.suggest(uncategorized(history), history)
            for row in found.itertuples():
                one = late[row.transaction_id]
                first = payments[turned.get((one.payee, one.amount > 0, one.category), 0)]
                if one.behaviour == "changes category" and first.day < month.start_time.date():
                    asked += 1
                    wrong += row.updated_category_ledger_id != books.truth[row.transaction_id]
    print(f"payees whose category changed in an earlier month: {wrong} of {asked} suggestion(s) wrong")


def print_seconds():
    """Print the seconds for books of 24,000 transactions, half of them in the queue, or a month."""
    payments = NOISY["make_payments"](1, rows_per_month=800)
    for month in (15, 29):
        asked = FRAMES["frames"](payments, NOISY["month_start"](month))
        books = aa.Books(asked.line_entries, asked.ledgers, time_zone="UTC")
        queue = aa.uncategorized_queue(books)
        began = time.perf_counter()
        found = aa.suggest(queue, books)
        taken = time.perf_counter() - began
        print(f"{len(payments):,} transactions, {len(queue):,} asked: {len(found):,} suggestions in {taken:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--seeds", type=int, nargs="*", default=NOISY["SEEDS"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        others = [demo(), bean_example(Path(folder))]
    every, kept = [], []
    for books in [*map(noisy, options.seeds), *others]:
        found = list(folds(books, options.months))
        kept.append(print_books(books.name, found))
        every += found
    print_books("all", every)
    print(f"kept in {sum(one.kept for one in kept)} of {sum(one.pooled for one in kept)} folds, each of one book")
    print_transfers(options.seeds)
    print_changed_payees(options.seeds)
    print_seconds()


if __name__ == "__main__":
    main()
