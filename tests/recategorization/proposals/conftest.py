"""Line entries and ledgers as frames, from a few journal entries; statement texts of known merchants, with noise."""

import datetime as dt
import random
import runpy
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from accounting_analytics.core.schemas import Ledgers, LineEntries

NOON = dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)
CHART = [
    # id, name, type, sub_type, side, financial account, cash, required, parent
    ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", True, False, None),
    ("card", "Card", "liability", "current_liabilities", "credit", "credit_card", True, False, None),
    ("loan", "Loan", "liability", "current_liabilities", "credit", "loan", False, False, None),
    ("in", "Inflow to sort", "asset", "uncategorized_assets", "credit", None, False, True, None),
    ("out", "Outflow to sort", "asset", "uncategorized_assets", "debit", None, False, True, None),
    ("transfers", "Transfers", "asset", "transfers_between_accounts", "debit", None, False, True, None),
    ("expenses", "Expenses", "expense", "operating_expenses", "debit", None, False, False, None),
    ("meals", "Meals", "expense", "operating_expenses", "debit", None, False, False, "expenses"),
    ("software", "Software", "expense", "operating_expenses", "debit", None, False, False, "expenses"),
    ("cogs", "Cost of Goods", "expense", "cost_of_goods_sold", "debit", None, False, False, None),
    ("cogs-software", "Software", "expense", "cost_of_goods_sold", "debit", None, False, False, "cogs"),
    ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False, False, None),
]


def chart(rows=CHART):
    """Return a chart of accounts."""
    return Ledgers.from_columns(
        {
            "id": [row[0] for row in rows],
            "name": [row[1] for row in rows],
            "type": [row[2] for row in rows],
            "sub_type": [row[3] for row in rows],
            "debit_credit": [row[4] for row in rows],
            "financial_account_type": [row[5] for row in rows],
            "report_cash_flow": [row[6] for row in rows],
            "is_required": [row[7] for row in rows],
            "editable": [True for _ in rows],
            "parent_id": [row[8] for row in rows],
            "sort_code": [f"{number:03}" for number, _ in enumerate(rows)],
            "created_at": [None for _ in rows],
        }
    )


def line_entries(*entries, descriptions=None):
    """Return line entries; each entry is a list of (ledger id, signed amount text). Accounts have transactions."""
    accounts = {row[0] for row in CHART if row[5] is not None}
    rows = []
    for number, entry in enumerate(entries):
        signed = [(ledger_id, Decimal(text)) for ledger_id, text in entry]
        with localcontext(prec=200):
            assert sum(amount for _, amount in signed) == 0
        for index, (ledger_id, amount) in enumerate(signed):
            opposing = dict.fromkeys(other for other, size in signed if (size > 0) != (amount > 0))
            is_account = ledger_id in accounts
            rows.append(
                {
                    "id": f"line-{number}-{index}",
                    "ledger_id": ledger_id,
                    "ledger_name": ledger_id.title(),
                    "journal_entry_id": f"entry-{number}",
                    "journal_entry_description": "the entry",
                    "datetime": NOON + dt.timedelta(days=number),
                    "amount": amount.copy_abs(),
                    "debit_credit": "debit" if amount > 0 else "credit",
                    "signed_amount": amount,
                    "description": "",
                    "transaction_id": f"txn-{number}-{index}" if is_account else None,
                    "related_line_entry_id": None,
                    "editable": True,
                    "opposing_ledger_ids": "|".join(opposing),
                    "tag_ids": "",
                    # without its sign, so the direction must not be taken from it
                    "transaction_amount": amount.copy_abs() if is_account else None,
                    "transaction_description": (descriptions or {}).get(number, "") if is_account else None,
                    "transaction_review_status": "unreviewed" if is_account else None,
                }
            )
    return LineEntries.from_columns({name: [row[name] for row in rows] for name in rows[0]}, as_decimals=True)


@pytest.fixture(scope="session")
def books():
    """Return builders of frames; tests do not modify them."""
    return SimpleNamespace(rows=CHART, chart=chart, lines=line_entries, ledgers=chart())


MERCHANTS = (
    # ordinary names
    "BLUE BOTTLE COFFEE", "SWEETGREEN", "STAPLES", "HOME DEPOT", "OFFICE DEPOT", "RESTAURANT DEPOT",
    "DELTA AIR LINES", "UNITED AIRLINES", "FEDEX OFFICE", "UPS STORE", "SHELL OIL", "EXXONMOBIL", "TRADER JOES",
    "WHOLE FOODS MARKET", "JOES PIZZA", "JOES STONE CRAB", "GOOGLE ADS", "GOOGLE CLOUD", "GOOGLE WORKSPACE",
    "AMAZON WEB SERVICES", "AMZN MKTP", "ADOBE CREATIVE CLOUD", "ADOBE STOCK", "MICROSOFT AZURE",
    "MICROSOFT OFFICE", "GREENPOINT PLUMBING", "GREENPOINT HARDWARE", "HUDSON VALLEY FRESH", "HUDSON NEWS",
    "CON EDISON", "NATIONAL GRID", "VERIZON WIRELESS", "VERIZON FIOS", "TARGET", "COSTCO GAS",
    "COSTCO WHOLESALE", "STARBUCKS", "DUNKIN", "CITY OF NEW YORK PARKING", "NYC DOHMH PERMIT",
    "BALTHAZAR BAKERY", "ULINE", "GRAINGER", "WEBSTAURANT STORE", "LYFT RIDE", "UBER TRIP", "UBER EATS",
    "NETFLIX", "SPOTIFY", "ZOOM VIDEO COMMUNICATIONS",
    # names with digits, short names, names that look like noise
    "7-ELEVEN", "STUDIO 54", "FOREVER 21", "PIER 39", "24 HOUR FITNESS", "1-800-FLOWERS", "3M", "H&M",
    "MOTEL 6", "FIVE 9 SOFTWARE", "A1 TAXI", "A2 HOSTING", "CARD FACTORY", "THE STORE ROOM", "DATE NIGHT CAFE",
    "REF MARKET", "PURCHASE COLLEGE", "VISA BOOKSHOP", "OHIO BREWING", "BANK OF TEA", "POS SYSTEMS",
    "DEBIT BAR",
)  # fmt: skip
"""True names of merchants."""

CITIES = ("BROOKLYN NY", "SAN FRANCISCO CA", "OAKLAND CA", "AUSTIN TX", "NEW YORK NY")
NOISE = (
    "plain",
    "processor",
    "store_number",
    "store_number_and_city",
    "reference",
    "card",
    "date",
    "bank_prefix",
    "code_after_star",
    "telephone",
    "punctuation",
    "company_form",
)
"""Kinds of noise that processors, terminals and banks add to a name."""


def make_statement_texts(seed, per_kind=2, merchants=MERCHANTS, kinds=NOISE):
    """Return pairs of statement text and true merchant, for each merchant and kind of noise."""
    rng = random.Random(seed)  # noqa: S311 (repeatable tests)
    texts = [
        (_noisy(merchant, kind, rng), merchant) for merchant in merchants for kind in kinds for _ in range(per_kind)
    ]
    rng.shuffle(texts)
    return texts


def _noisy(merchant, kind, rng):
    def digits(count):
        return "".join(rng.choice("0123456789") for _ in range(count))

    def code(count):
        return "".join(rng.choice("0123456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(count))

    day = f"{rng.randint(1, 12):02}/{rng.randint(1, 28):02}"
    iso = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    choices = {
        "plain": [merchant, merchant.lower(), merchant.title()],
        "processor": [
            f"SQ *{merchant}",
            f"TST* {merchant}",
            f"PAYPAL *{merchant}",
            f"SP * {merchant}",
            f"PY *{merchant}",
        ],
        "store_number": [f"{merchant} #{digits(4)}", f"{merchant} {digits(5)}", f"{merchant} STORE {digits(3)}"],
        "store_number_and_city": [
            f"{merchant} #{digits(4)} {rng.choice(CITIES)}",
            f"{merchant} {digits(5)} BROOKLYN NY",
        ],
        "reference": [f"{merchant} REF {digits(9)}", f"{merchant} CONF#{code(8)}1", f"{merchant} INV {digits(6)}"],
        "card": [f"{merchant} XXXX{digits(4)}", f"{merchant} CARD {digits(4)}", f"{merchant} ENDING IN {digits(4)}"],
        "date": [f"{merchant} {day}", f"{merchant} {day}/26", f"{merchant} {iso}"],
        "bank_prefix": [
            f"POS PURCHASE {merchant}",
            f"DEBIT CARD PURCHASE {merchant}",
            f"CHECKCARD {day.replace('/', '')} {merchant}",
            f"ACH DEBIT {merchant}",
            f"RECURRING PAYMENT {merchant}",
            f"PURCHASE AUTHORIZED ON {day} {merchant}",
        ],
        "code_after_star": [f"{merchant}*{code(3)}{digits(2)}{code(3)}", f"{merchant} *{digits(9)}"],
        "telephone": [f"{merchant} {digits(3)}-{digits(3)}-{digits(4)}", f"{merchant} 800-{digits(3)}-{digits(4)} CA"],
        "punctuation": [f"  {merchant.replace(' ', '   ')}. ", f"{merchant},"],
        "company_form": [f"{merchant} INC", f"{merchant}, LLC", f"{merchant} CORP."],
    }
    return rng.choice(choices[kind])


@pytest.fixture(scope="session")
def known_merchants():
    """Return the true names of the merchants of the statement texts."""
    return MERCHANTS


@pytest.fixture(scope="session")
def statement_texts():
    """Return a function from a seed to pairs of statement text and true merchant."""
    return make_statement_texts


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def noisy_books():
    """Return the generator of books whose history contradicts itself."""
    return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "noisy_books.py")))


@pytest.fixture(scope="session")
def payment_frames():
    """Return the functions that make frames of payments."""
    return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "payment_frames.py")))
