"""Key ratios: each against pandas and fractions, on the demo and on random books, and why one is not known."""

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payee_books import BookEntry, frame_of

import accounting_analytics as aa
from accounting_analytics.core.errors import EmptyPeriodError, InputError

LAST = dt.date(2026, 1, 31)
FIRST = dt.date(2024, 12, 1)
LEDGERS = pd.DataFrame(
    [
        ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", None),
        ("card", "Card", "liability", "current_liabilities", "credit", "credit_card", None),
        ("owed", "Receivable", "asset", "current_assets", "debit", "accounts_receivable", None),
        ("acme", "Acme", "asset", "current_assets", "debit", None, "owed"),
        ("bills", "Payable", "liability", "current_liabilities", "credit", "accounts_payable", None),
        ("taxes", "Tax payable", "liability", "current_liabilities", "credit", None, None),
        ("loan", "Loan", "liability", "current_liabilities", "credit", "loan", None),
        ("bond", "Bond", "liability", "non-current_liabilities", "credit", None, None),
        ("oven", "Oven", "asset", "non-current_assets", "debit", None, None),
        ("sales", "Sales", "revenue", "operating_revenues", "credit", None, None),
        ("prizes", "Prizes", "revenue", "other_income", "credit", None, None),
        ("goods", "Goods", "expense", "cost_of_goods_sold", "debit", None, None),
        ("rent", "Rent", "expense", "operating_expenses", "debit", None, None),
        ("wear", "Wear", "expense", "operating_expenses", "debit", None, None),
        ("ovenwear", "Wear of ovens", "expense", "cost_of_goods_sold", "debit", None, "wear"),
        ("interest", "Interest", "expense", "other_expenses", "debit", None, None),
        ("owner", "Owner", "equity", "equity", "credit", None, None),
        ("open", "Opening balances", "equity", "equity", "credit", None, None),
        ("in", "Undecided in", "asset", "uncategorized_assets", "credit", None, None),
        ("out", "Undecided out", "asset", "uncategorized_assets", "debit", None, None),
        ("own", "Transfers", "asset", "transfers_between_accounts", "debit", None, None),
    ],
    columns=["id", "name", "type", "sub_type", "debit_credit", "financial_account_type", "parent_id"],
)
LEDGERS = LEDGERS.assign(
    report_cash_flow=LEDGERS["id"].isin(["bank", "card"]),
    is_required=LEDGERS["id"].isin(["open", "in", "out", "own"]),
    editable=True,
    created_at=pd.NaT,
    sort_code=[f"{number:02}" for number in range(len(LEDGERS))],
)
CASH = ["bank", "card"]
PAYERS = ("OAK STREET", "BLUE BOTTLE", "M ORTIZ", "")
FIGURES = "current_ratio days_cash days_receivable days_payable largest_customer debt debt_paid debt_coverage ebitda"


def books_of(entries, ledgers=LEDGERS, first=FIRST, **options):
    """Return books of journal entries from a first day, or of what is said of their opening."""
    given_ = {"opening": first} | options
    return aa.Books(frame_of(entries), ledgers, (first, LAST), time_zone="UTC", **given_)


@st.composite
def drawn_entries(draw):
    """Draw entries of more than a year, of which most touch cash, and a first one that opens the books."""
    days = st.one_of(
        st.dates(FIRST, LAST),
        st.sampled_from([LAST - dt.timedelta(count) for count in (0, 89, 90, 364, 365)]),
    )
    cents = st.integers(-(10**7), 10**7)
    found = [BookEntry(FIRST, "", (("bank", 50_000_00), ("open", -50_000_00)))]
    for _ in range(draw(st.integers(0, 25))):
        parts = tuple((draw(st.sampled_from(list(LEDGERS["id"]))), draw(cents)) for _ in range(draw(st.integers(1, 3))))
        own = draw(st.sampled_from(["bank", "bank", "card", "bills", "owed"]))
        balanced = (*parts, (own, -sum(units for _, units in parts)))
        found.append(BookEntry(draw(days), draw(st.sampled_from(PAYERS)), balanced, is_transaction=draw(st.booleans())))
    return found


class Expected:
    """The same ratios from a frame of lines, in cents and fractions."""

    def __init__(self, books):
        self.lines = books.lines.assign(
            cents=lambda frame: (frame["signed_amount"] * 100).round().astype("int64"),
            day=lambda frame: frame["datetime"].dt.date,
            counterparty=lambda frame: frame["journal_entry_id"].map(books.source.counterparties),
        )
        in_cash = self.lines["ledger_id"].isin(CASH)
        of_entry = self.lines["journal_entry_id"]
        touching = of_entry.isin(of_entry[in_cash]) & ~of_entry.isin(of_entry[self.lines["ledger_id"].eq("open")])
        flows = self.lines[touching & ~in_cash]
        self.flows = flows.assign(moved=-flows["cents"])

    def balance(self, *ledgers):
        """Debits less credits of ledgers up to the last day."""
        return int(self.lines.loc[self.lines["ledger_id"].isin(ledgers), "cents"].sum())

    @staticmethod
    def last(frame, days):
        """Return the lines of the last days."""
        return frame[frame["day"] > LAST - dt.timedelta(days)]

    def moved(self, *ledgers, days=365):
        """Debits less credits of ledgers in the last days."""
        recent = self.last(self.lines, days)
        return int(recent.loc[recent["ledger_id"].isin(ledgers), "cents"].sum())

    def side(self, flows, sign):
        """Return the flows of the entries that bring cash in, or take it out."""
        return flows[sign * flows.groupby("journal_entry_id")["moved"].transform("sum") > 0]

    def customers(self):
        """Sum of each customer's receipts, and of all customers."""
        receipts = self.side(self.last(self.flows, 365), 1)
        earned = receipts["journal_entry_id"][receipts["ledger_id"].isin(["sales", "owed", "acme"])]
        receipts = receipts[
            receipts["journal_entry_id"].isin(earned) & ~receipts["ledger_id"].isin(["in", "out", "own"])
        ]
        named = receipts[receipts["counterparty"].notna() & receipts["counterparty"].ne("")]
        return named.groupby("counterparty")["moved"].sum(), int(receipts["moved"].sum())

    def ratios(self):
        """Numerator, denominator and factor of each ratio; a denominator of 1 for amounts."""
        by_customer, receipts = self.customers()
        recent = self.last(self.flows, 365)
        of_debt = recent[recent["ledger_id"].isin(["loan", "bond"])]
        paid = -int(self.side(of_debt, -1)["moved"].sum())
        financing = ["loan", "bond", "owner"]
        operating = recent[~recent["ledger_id"].isin([*financing, "oven", "own", "in", "out"])]
        earned = -self.moved("sales", "goods", "rent", "wear", "ovenwear")
        return {
            "current_ratio": (self.balance("bank", "owed", "acme"), -self.balance("card", "bills", "taxes", "loan"), 1),
            "days_cash": (self.balance(*CASH), -int(self.side(self.last(self.flows, 90), -1)["moved"].sum()), 90),
            "days_receivable": (self.balance("owed", "acme"), -self.moved("sales"), 365),
            "days_payable": (-self.balance("bills"), self.moved("goods", "rent", "wear", "ovenwear"), 365),
            "largest_customer": (max(by_customer, default=0), receipts if max(by_customer, default=0) > 0 else 0, 100),
            "debt": (-self.balance("loan", "bond"), 1, 1),
            "debt_paid": (paid, 1, 1),
            "debt_coverage": (int(operating["moved"].sum()), paid, 1),
            "ebitda": (earned + self.moved("wear", "ovenwear"), 1, 1),
        }


@given(drawn_entries())
def test_each_ratio_is_that_of_pandas_and_fractions(entries):
    books = books_of(entries)
    found, expected = aa.key_ratios(books, LAST, depreciation=["Wear"]), Expected(books).ratios()
    assert list(expected) == FIGURES.split() == [ratio.key for ratio in found.ratios][:9]
    for key, (part, whole, times) in expected.items():
        figure = found[key]
        if key in {"debt", "debt_paid", "ebitda"}:
            assert figure.units == part, key
        elif whole <= 0:
            assert figure.text == "not known", key
            assert figure.calculation.startswith("it is not known: "), key
        else:
            digits = 2 if times == 1 else 1
            assert figure.exact() == Decimal(round(Fraction(times * 10**digits * part, whole))).scaleb(-digits), key
            assert [int(term.units) for term in figure.terms] == [part, whole], key


@given(drawn_entries())
def test_every_term_has_the_entries_that_sum_to_it(entries):
    found = aa.key_ratios(books_of(entries), LAST, depreciation=["Wear", "Wear of ovens"])
    waiting = [ratio.figure for ratio in found.ratios]
    while waiting:
        figure = waiting.pop()
        waiting += figure.terms
        assert found[figure.key].units == figure.units
        if figure.is_additive:
            assert sum(figure.exact_entries()["figure_amount"]) == figure.exact()
        elif figure.terms and figure.units is not None and "/" not in figure.signs:
            assert figure.units == sum(
                int(f"{sign}1") * one.units for sign, one in zip(figure.signs, figure.terms, strict=True)
            )


@pytest.fixture(scope="module")
def demo(demo_company):
    """Return the demo's books, from their first day to their last."""
    return aa.load_books(demo_company.client, (demo_company.start_date, demo_company.end_date), progress=False)


def test_ratios_of_the_demo_are_those_of_pandas(demo):
    found = aa.key_ratios(demo, "2026-05-31", depreciation=["Depreciation"])
    lines = demo.lines[demo.lines["local_date"] <= "2026-05-31"].merge(
        demo.ledgers[["id", "sub_type", "financial_account_type", "report_cash_flow"]],
        left_on="ledger_id",
        right_on="id",
    )
    year = lines[lines["local_date"] > "2025-05-31"]
    balances, moved = (frame.groupby("sub_type")["signed_amount"].sum() for frame in (lines, year))
    by_account = lines.groupby("financial_account_type")["signed_amount"].sum()
    costs = moved["cost_of_goods_sold"] + moved["operating_expenses"]
    worn = year.loc[year["ledger_id"] == "led_depreciation", "signed_amount"].sum()
    expected = {
        "current_ratio": balances["current_assets"] / -balances["current_liabilities"],
        "days_receivable": by_account["accounts_receivable"] / -moved["operating_revenues"] * 365,
        "days_payable": -by_account["accounts_payable"] / costs * 365,
        "debt": -by_account["loan"],
        "debt_paid": year.loc[year["ledger_id"] == "led_loan", "signed_amount"].sum(),
        "ebitda": -moved["operating_revenues"] - costs + worn,
    }
    for key, value in expected.items():
        assert found[key].amount == pytest.approx(value, abs=0.0501 if key.startswith("days") else 0.00501), key
    texts = {ratio.key: ratio.figure.text for ratio in found.ratios}
    assert texts == {
        "current_ratio": "1.28",
        "days_cash": "34.5 days",
        "days_receivable": "7.3 days",
        "days_payable": "12.3 days",
        "largest_customer": "5.2%",
        "debt": "63,227.65",
        "debt_paid": "12,772.35",
        "debt_coverage": "7.47",
        "ebitda": "94,791.47",
        "ebitda_period": "117,896.56",
    }
    assert found.ratios[4].name == "Share of the largest customer, NORTHSIDE GROCERS"


def test_the_terms_are_those_of_statements(demo):
    found = aa.key_ratios(demo, "2026-05-31", depreciation=["Depreciation"])
    days = "2025-06-01/2026-05-31"
    income, cash = (make(demo, columns=[days]) for make in (aa.income_statement, aa.cash_flow_statement))
    assert found["days_receivable"].terms[1].units == income["operating_revenues"].units
    assert found["ebitda"].terms[0].units == income["operating_income"].units
    assert found["debt_coverage"].terms[0].units == cash["operating"].units
    assert found["days_cash"].terms[0].units == cash["ending_cash_balance"].units
    assert found["days_payable"].terms[0].units == round(
        100 * float(aa.ageing(demo, as_of="2026-05-31")["Supplier Payables", "total"].exact())
    )


def test_ratios_are_shown_with_definitions_and_terms(demo, tmp_path):
    found = aa.key_ratios(demo.of("2026-05"), depreciation=["Depreciation"])
    assert found.summary() == (
        "Harbor Lane Coffee Roasters, Key ratios at the end of 31 May 2026, USD: "
        "Current ratio 1.28, Days of cash on hand 34.5 days."
    )
    text = found.explain()
    assert "  Total current liabilities, 31 May 2026                      115,434.50" in text
    assert "- Days of cash on hand: Cash at the end by cash out of the last 90 days, times 90." in text
    assert "EBITDA, May 2026" in text
    frame = found.frame.set_index("key")
    assert frame.loc["current_ratio", ["value", "text"]].tolist() == [1.28, "1.28"]
    content = json.loads(found.to_json())["ratios"]
    assert content[0]["terms"][1] == {
        "sign": "/",
        "label": "Total current liabilities, 31 May 2026",
        "amount": "115434.50",
    }
    page = found._repr_html_()
    assert ">34.5 days<" in page
    assert "Cash at the end by cash out" in page
    found["days_cash"].to_excel(tmp_path / "cash.xlsx")
    cells = [
        [cell.value for cell in row] for row in openpyxl.load_workbook(tmp_path / "cash.xlsx")["Figure"].iter_rows()
    ]
    assert cells[1][:2] == ["Days of cash on hand, 31 May 2026", "34.5 days"]
    assert found["cash_out", "90 days"].entries["figure_amount"].sum() == pytest.approx(252_965.26)


SALE = BookEntry(LAST, "OAK STREET", (("bank", 900_00), ("sales", -900_00)))


def why(found, key):
    assert found[key].text == "not known"
    assert found.frame.set_index("key").loc[key, "definition"].endswith(f"{found[key].calculation[7:]}.")
    return found[key].calculation.removeprefix("it is not known: ")


def test_too_short_books_do_not_know_yearly_ratios():
    first = LAST - dt.timedelta(300)
    rent = BookEntry(LAST, "LANDLORD", (("rent", 300_00), ("bank", -300_00)))
    found = aa.key_ratios(books_of([SALE, rent], first=first), LAST, depreciation=["Wear"])
    assert found["days_cash"].text == "180.0 days"
    reason = "the books begin on 6 Apr 2025, and the 365 days to 31 Jan 2026 on 1 Feb 2025"
    for key in ("days_receivable", "days_payable", "largest_customer", "debt_paid", "debt_coverage"):
        assert why(found, key) == reason, key
    assert why(found, "ebitda") == "the books begin on 6 Apr 2025, and the twelve months to 31 Jan 2026 on 1 Feb 2025"
    whole = aa.key_ratios(books_of([SALE, rent], first=LAST - dt.timedelta(364)), LAST)
    assert whole["largest_customer"].text == "100.0%"
    shorter = aa.key_ratios(books_of([SALE, rent], first=LAST - dt.timedelta(20)), LAST)
    assert why(shorter, "days_cash").startswith("the books begin on 11 Jan 2026, and the 90 days to 31 Jan 2026 on ")


@pytest.mark.parametrize("key", ["current_ratio", "days_cash", "days_receivable", "days_payable", "debt"])
def test_balances_without_an_opening_give_no_ratio(key):
    found = aa.key_ratios(books_of([SALE], opening=None), LAST)
    assert why(found, key) == "amounts up to a day are movements since 31 Jan 2026, not balances", key


def test_bases_that_are_zero_or_negative():
    """There is nothing to divide by, and a ratio by a negative amount would mean the opposite."""
    returned = BookEntry(LAST, "OAK STREET", (("sales", 100_00), ("bank", -100_00)))
    start = BookEntry(FIRST, "", (("bank", 500_00), ("owner", -500_00)))
    found = aa.key_ratios(books_of([start, returned]), LAST)
    assert why(found, "current_ratio") == (
        "Total current liabilities, 31 Jan 2026 is zero, so there is nothing to divide by"
    )
    assert why(found, "days_receivable").startswith("Total operating revenues, 365 days to 31 Jan 2026 is negative, so")
    assert why(found, "largest_customer") == "no receipt of these days names a customer"
    assert why(found, "debt_coverage").startswith("Paid on debt, 365 days to 31 Jan 2026 is zero, so")
    assert found["debt"].text == "\N{EN DASH}"


def test_ratios_of_missing_ledgers_are_not_zero():
    bare = LEDGERS[LEDGERS["id"].isin(["bank", "sales", "rent", "owner", "open", "in", "out", "own"])]
    found = aa.key_ratios(books_of([SALE], ledgers=bare), LAST)
    assert why(found, "current_ratio") == "no ledger is of current liabilities"
    assert why(found, "days_receivable") == "no ledger is an account of type accounts_receivable"
    assert why(found, "days_payable") == "no ledger is an account of type accounts_payable"
    assert why(found, "debt") == why(found, "debt_paid") == "no ledger is a loan or a non-current liability"


def test_depreciation_is_named_not_guessed():
    worn = BookEntry(LAST, "", (("wear", 50_00), ("ovenwear", 25_00), ("oven", -75_00)))
    books = books_of([SALE, worn, BookEntry(FIRST, "", (("bank", 1), ("owner", -1)))])
    unnamed = aa.key_ratios(books, LAST)
    assert why(unnamed, "ebitda").startswith(
        "name the ledgers of depreciation, because no ledger states that it is one"
    )
    assert "ebitda_period" not in unnamed.frame["key"].tolist()
    for names in (["Wear"], ["Wear", "Wear:Wear of ovens"], "wear"):
        assert aa.key_ratios(books, LAST, depreciation=names)["ebitda"].units == 900_00
    assert aa.key_ratios(books, LAST, depreciation=["Wear of ovens"])["ebitda"].units == 850_00
    with pytest.raises(InputError, match="depreciation: no discovered ledger matches 'Waer'; did you mean 'Wear'"):
        aa.key_ratios(books, LAST, depreciation=["Waer"])
    with pytest.raises(
        InputError, match="'Interest' is of type expense, other_expenses, and operating income is before"
    ):
        aa.key_ratios(books, LAST, depreciation=["Interest"])


def test_what_is_not_categorized_is_in_no_ratio():
    undecided = BookEntry(LAST, "BLUE BOTTLE", (("bank", 800_00), ("in", -800_00)))
    part = BookEntry(LAST, "OAK STREET", (("bank", 150_00), ("sales", -100_00), ("in", -50_00)))
    bill = BookEntry(LAST, "", (("rent", 100_00), ("bills", -100_00)))
    found = aa.key_ratios(books_of([BookEntry(FIRST, "", (("bank", 1), ("owner", -1))), undecided, part, bill]), LAST)
    assert found["current_ratio"].terms[0].units == 950_01
    assert [term.units for term in found["largest_customer"].terms] == [100_00, 100_00]


def test_new_debt_is_not_paid_debt():
    borrowed = BookEntry(LAST, "BANK", (("bank", 5_000_00), ("loan", -5_000_00)))
    paid = BookEntry(LAST, "BANK", (("bond", 300_00), ("interest", 20_00), ("bank", -320_00)))
    found = aa.key_ratios(books_of([BookEntry(FIRST, "", (("bank", 1), ("owner", -1))), borrowed, paid, SALE]), LAST)
    assert [found[key].units for key in ("debt", "debt_paid")] == [4_700_00, 300_00]
    assert found["debt_coverage"].text == "2.93"
    assert [term.units for term in found["debt_coverage"].terms] == [880_00, 300_00]


def test_what_cannot_be_answered_is_refused():
    books = books_of([BookEntry(FIRST, "", (("bank", 1), ("owner", -1))), SALE])
    with pytest.raises(InputError, match="no ratio is 'current'; did you mean 'current_ratio'"):
        aa.key_ratios(books)["current"]
    with pytest.raises(EmptyPeriodError, match="the books begin on 2024-12-01"):
        aa.key_ratios(books, "2024-11-30")
    with pytest.raises(InputError, match="key ratios takes the lines as they were loaded"):
        aa.key_ratios(books.with_lines(books.lines, label="some"))
    assert aa.key_ratios(books).end_date == LAST
