"""How far outlooks were off: three companies, the demo and bean-example, each past week from what was known then.

    python tests/benchmarks/outlook.py [--seeds 1 2 3]

Errors of a week, and of the balances at the ends of weeks 1 to 13, are in parts of those of the better of no change and
the plain average of 26 weeks: above 1 no forecast is shown. `in range` is how many of the balances of the first six
weeks were in their 80 % range. With seeds, the three companies are others.
"""

import argparse
import runpy
import tempfile
from pathlib import Path
from types import SimpleNamespace

import accounting_analytics as aa

FOLDER = Path(__file__).parent
COMPANIES = SimpleNamespace(**runpy.run_path(str(FOLDER / "three_companies.py")))
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))["frames"]
SUGGESTIONS = SimpleNamespace(**runpy.run_path(str(FOLDER / "suggestions.py")))
LAST = COMPANIES.LAST + COMPANIES.DAY


def company(name, seed=None):
    made = FRAMES(COMPANIES.payments(name, seed), LAST)
    return aa.Books(made.line_entries, made.ledgers, time_zone="UTC")


def named_books(seeds):
    for name in COMPANIES.COMPANIES:
        for seed in seeds or [None]:
            yield f"{name} {seed or ''}".strip(), company(name, seed)
    if not seeds:
        with aa.demo() as demo:
            yield "demo", aa.load_books(demo.client, (demo.start_date, demo.end_date), reports=())
        with tempfile.TemporaryDirectory() as folder, SUGGESTIONS.bean_service(Path(folder)) as client:
            yield "bean-example", aa.load_books(client, SUGGESTIONS.BEAN_DAYS, reports=(), time_zone="UTC")


def recurring_part(books):
    """Return which part of the money that moved on cash ledgers is of payments with a rhythm."""
    lines, ledgers = books.lines, books.ledgers
    cash = lines[lines["ledger_id"].isin(ledgers.loc[ledgers["report_cash_flow"], "id"])]
    result = aa.recurring_payments(books)
    recurring = sum(result[one.key].entries["figure_amount"].abs().sum() for one in result.payments)
    return recurring / cash["signed_amount"].abs().sum()


def main():
    """Print the score of each of the books, and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=())
    covered = ranges = weeks = 0
    heads = ("past weeks", "week", "balance", "in range", "recurs")
    print(f"{'books':16}{''.join(f'{one:>11}' for one in heads)}  together they move")
    for name, books in named_books(parser.parse_args().seeds):
        result = aa.outlook(books)
        score = result.score
        covered, ranges, weeks = covered + score.covered, ranges + score.ranges, weeks + 13 * score.origins
        parts = [
            *(of["outlook"] / min(of["average"], of["no change"]) for of in (score.weekly, score.balance)),
            score.covered / score.ranges,
            recurring_part(books),
        ]
        print(f"{name:16}{score.origins:11}{''.join(f'{one:11.3f}' for one in parts)}  {result.method}")
    print(f"of {weeks:,} weeks and {ranges:,} balances {covered / ranges:.3f} in range")


if __name__ == "__main__":
    main()
