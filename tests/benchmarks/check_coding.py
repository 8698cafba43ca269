"""Recall and precision of `check_coding`, on books with mistakes that are known.

    python tests/benchmarks/check_coding.py [--seeds 1 2 3] [--books 11 12]

Books: those of ``noisy_books.py`` for each seed of `--books`, three companies, and the demo company. Two of a hundred
transactions with a category are moved to another one of the same type, and one of a hundred is there twice, up to three
days later. A mistake that the noisy books have of themselves counts as right. The first line of a book has the
findings of another category, of the moved ones whose counterparty has five earlier transactions; the second those of
the same payment twice, without receipts of those who pay more than eight times a month; the third the findings on the
books as they are, without the mistakes of noisy ones.
"""

import argparse
import datetime as dt
import random
import runpy
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import accounting_analytics as aa
from accounting_analytics.recategorization.queue import categorized_transactions

FOLDER = Path(__file__).parent
NOISY = runpy.run_path(str(FOLDER / "noisy_books.py"))
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))
COMPANIES = runpy.run_path(str(FOLDER / "three_companies.py"))
MOVED, DOUBLED, EARLIER, MOST_DAYS, MOST_RECEIPTS = 0.02, 0.01, 5, 3, 8
SECOND = "again_"
"""Beginning of the ids of a payment that is there a second time."""


class KnownBooks(NamedTuple):
    """Lines and ledgers, the true category of each transaction, and the zone of the days."""

    name: str
    lines: pd.DataFrame
    ledgers: pd.DataFrame
    truth: dict[str, str]
    time_zone: str = "UTC"

    def books(self, lines=None):
        """Return books of these lines, or of others."""
        frame = self.lines if lines is None else lines
        return aa.Books(frame.reset_index(drop=True), self.ledgers, time_zone=self.time_zone)


def of_payments(name, payments):
    made = FRAMES["frames"](payments, dt.date.max)
    return KnownBooks(name, made.line_entries, made.ledgers, made.truth)


def noisy(seed, *, mistakes):
    """Return noisy books, with or without mistakes of their own."""
    make = NOISY["make_payments"]
    before = make.__globals__["MISTAKES"]
    make.__globals__["MISTAKES"] = before if mistakes else 0.0
    try:
        return of_payments(f"noisy {seed}", make(seed))
    finally:
        make.__globals__["MISTAKES"] = before


def demo():
    """Return the books of the demo company, whose categories are right."""
    with aa.demo() as company:
        books = aa.load_books(company.client)
    lines = books.lines
    lines.attrs = {}
    rows = categorized_transactions(books, books.ledgers)
    truth = dict(zip(rows["transaction_id"], rows["category_ledger_id"], strict=True))
    return KnownBooks("demo", lines, books.ledgers, truth, books.time_zone)


class Mistakes(NamedTuple):
    """Lines with mistakes, and the transactions that were moved and doubled."""

    lines: pd.DataFrame
    moved: set[str]
    doubled: set[str]


def with_mistakes(known, seed):
    """Move and double some transactions with one category."""
    chosen = random.Random(seed)  # noqa: S311 (books, not secrets)
    rows = categorized_transactions(known.books(), known.ledgers)
    rows = rows[rows["transaction_id"].isin(list(known.truth))].sort_values(["local_date", "transaction_id"])
    types = known.ledgers.set_index("id")["type"]
    used = rows["category_ledger_id"].drop_duplicates()
    by_type = {kind: list(of) for kind, of in used.groupby(used.map(types))}
    lines = known.lines.copy()
    moved = set()
    for row in rows.iloc[chosen.sample(range(len(rows)), round(MOVED * len(rows)))].itertuples():
        others = [one for one in by_type[types[row.category_ledger_id]] if one != row.category_ledger_id]
        if others:
            new = chosen.choice(others)
            of_entry = lines["journal_entry_id"] == row.journal_entry_id
            lines.loc[of_entry & (lines["ledger_id"] == row.category_ledger_id), "ledger_id"] = new
            lines.loc[of_entry & (lines["transaction_id"] == row.transaction_id), "opposing_ledger_ids"] = new
            moved.add(row.transaction_id)
    copies = []
    for row in rows.iloc[chosen.sample(range(len(rows)), round(DOUBLED * len(rows)))].itertuples():
        copy = lines[lines["journal_entry_id"] == row.journal_entry_id].copy()
        for name in ("id", "journal_entry_id", "transaction_id"):
            copy[name] = SECOND + copy[name]
        copy["datetime"] = copy["datetime"] + pd.Timedelta(days=chosen.randint(0, MOST_DAYS))
        copies.append(copy)
    doubled = {one for copy in copies for one in copy["transaction_id"].dropna()}
    every = pd.concat([lines, *copies], ignore_index=True).drop(columns="local_date", errors="ignore")
    return Mistakes(every, moved, doubled)


class Score(NamedTuple):
    """How many of the mistakes were found, and how many of the findings are mistakes."""

    found: int
    mistakes: int
    right: int
    findings: int

    def __str__(self):
        recall, precision = self.found / max(self.mistakes, 1), self.right / max(self.findings, 1)
        return f"recall {recall:.3f} of {self.mistakes:3}, precision {precision:.3f} of {self.findings:3}"

    def plus(self, other):
        return Score(*(one + more for one, more in zip(self, other, strict=True)))


def measured(known, seed):
    """Return the scores of categories and of payments twice."""
    made = with_mistakes(known, seed)
    books = known.books(made.lines)
    findings = aa.check_coding(books).frame
    rows = categorized_transactions(books, known.ledgers).sort_values(["local_date", "transaction_id"])
    earlier = rows.groupby(["counterparty", "direction"]).cumcount()
    eligible = made.moved & set(rows.loc[earlier >= EARLIER, "transaction_id"])
    wrong = {one for one, now in zip(rows["transaction_id"], rows["category_ledger_id"], strict=True)
             if now != known.truth.get(one.removeprefix(SECOND), now)}  # fmt: skip
    found = set(findings.loc[findings["kind"] == "category", "transaction_id"])
    twice = set(findings.loc[findings["kind"] == "twice", "transaction_id"])
    of_party = rows.groupby(["counterparty", "direction"])["local_date"]
    months = (of_party.transform("max") - of_party.transform("min")).dt.days.clip(lower=30) / 30
    often = (rows["direction"] == "inflow") & (of_party.transform("size") > MOST_RECEIPTS * months)
    pairs = {one.removeprefix(SECOND) for one in made.doubled} - set(rows.loc[often, "transaction_id"])
    found_pairs = {one.removeprefix(SECOND) for one in twice} & pairs
    return (
        Score(len(found & eligible), len(eligible), len(found & wrong), len(found)),
        Score(len(found_pairs), len(pairs), sum(one.removeprefix(SECOND) in pairs for one in twice), len(twice)),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--books", type=int, nargs="+", default=[11, 12])
    given = parser.parse_args()
    every = [(noisy(one, mistakes=True), noisy(one, mistakes=False)) for one in given.books]
    every += [(one, one) for one in (of_payments(name, COMPANIES["payments"](name)) for name in COMPANIES["SEEDS"])]
    every += [(one, one) for one in [demo()]]
    for known, clean in every:
        scores = [measured(known, seed) for seed in given.seeds]
        totals = [Score(0, 0, 0, 0)] * 2
        for of_seed in scores:
            totals = [total.plus(one) for total, one in zip(totals, of_seed, strict=True)]
        findings = aa.check_coding(clean.books()).frame
        count = int(findings["kind"].isin(["category", "twice"]).sum())
        print(f"{known.name:10} category  {totals[0]}")
        print(f"{'':10} twice     {totals[1]}")
        print(f"{'':10} untouched {count} in {clean.lines['transaction_id'].notna().sum():,} transactions")


if __name__ == "__main__":
    main()
