"""The file of a bank or card as books: every decision, every form, what is compared, and what is refused."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError, ImportRefusedError, InputError

IMPORTS = Path(__file__).parents[2] / "data" / "imports"
BANK = {
    "account": "assets:bank:checking",
    "time_zone": "America/New_York",
    "currency": "USD",
    "date": "Date",
    "text": ["Payee", "Details"],
    "amount": "Amount",
    "balance": "Balance",
    "date_order": "month day year",
    "decimal_mark": ".",
    "direction": "minus is out",
    "not_booked": {"Status": "Pending"},
}
"""The decisions for the sample."""
HEAD = "Date,Payee,Amount,Balance\n"
PLAIN = {
    **BANK,
    "text": "Payee",
    "not_booked": {},
    "date_order": "year month day",
}
"""Decisions for a file of the columns of HEAD."""
ROWS = HEAD + "2025-03-03,RENT,-900.00,100.00\n2025-03-04,SALES,50.00,150.00\n2025-03-05,COFFEE,-4.00,146.00\n"


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a text as the file of a bank; None leaves an option out."""

    def open_text(content=ROWS, **options):
        file = tmp_path / "bank.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        chosen = {name: value for name, value in {**PLAIN, **options}.items() if value is not None}
        return aa.open_bank_file(file, **chosen)

    return open_text


@pytest.fixture
def refusal(opened):
    """Return a function that opens a text, and returns why it is refused, without the name of the file."""

    def message(content=ROWS, **options):
        with pytest.raises(ImportRefusedError) as refused:
            opened(content, **options)
        return str(refused.value).removeprefix("bank.csv: nothing was read: ")

    return message


def value(statement, row):
    """Amount of a row in the last column of a statement."""
    return statement[row, statement.columns[-1].key].exact()


def moved(books):
    """Amounts of the account by day and payee, without the opening balance."""
    lines = books.lines[books.lines["ledger_name"].isin(["checking", "card"])]
    lines = lines[lines["journal_entry_description"] != "Opening balance"]
    days = lines["local_date"].dt.strftime("%m-%d")
    return list(zip(days, lines["transaction_description"], lines["signed_amount"], strict=True))


ROWS_MOVED = [("03-03", "RENT", -900.0), ("03-04", "SALES", 50.0), ("03-05", "COFFEE", -4.0)]


def test_the_sample_is_books_with_what_it_states():
    books = aa.open_bank_file(IMPORTS / "bank_statement.csv", **BANK, rules=IMPORTS / "bank_rules.toml", company="Kent")
    assert len(books.lines) == 16
    assert (books.currency, books.company, books.extent.is_file) == ("USD", "Kent", True)
    assert books.opening.sentence() == "Balances are sums since 5 Mar 2025, the first day of the books."
    sheet = aa.balance_sheet(books)
    assert value(sheet, "assets:bank:checking") == Decimal("5034.11")
    assert value(sheet, "Opening Balance Retained Earnings") == Decimal("4210.33")
    months = aa.cash_flow_statement(books.of("2025-02/2025-03"), columns="month")
    assert [str(months.value("net_cash_flow", one.key)) for one in months.columns] == ["None", "823.78"]
    assert value(months, "opening_balances") == Decimal("4210.33")
    income = aa.income_statement(books, "2025-03")
    assert (value(income, "income:design"), value(income, "expenses:software")) == (
        Decimal("2150.00"),
        Decimal("213.63"),
    )
    assert value(income, "not_categorized") == Decimal("-112.59")
    queue = aa.uncategorized_queue(books)
    assert queue["counterparty"].tolist() == ["STAPLES", "BLUE BTTL", "BLUE BTTL", "BLUE BTTL"]
    assert books.notes[:3] == (
        "Not booked by Status: 'Pending' in 1 row; booked: 'Posted' in 7.",
        "Rows that are not booked: line 7 '03/31/2025, Pending, COSTCO GAS 0142, CARD 4471, -61.20'.",
        "Compared with the rows, and equal: the opening balance, the balance in 7 rows, the closing balance.",
    )


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (
            "date_order",
            (
                "date_order= for '03/31/2025' (line 7), '03/31/2025' (line 8), '03/28/2025' (line 9): 'month day year' "
                "reads 31 Mar 2025, 31 Mar 2025, 28 Mar 2025"
            ),
        ),
        (
            "decimal_mark",
            (
                "decimal_mark= for '-61.20' (line 7), '-18.40' (line 8), '2,150.00' (line 9): '.' reads -61.20, "
                "-18.40, 2,150.00; ',' reads no amount, no amount, no amount"
            ),
        ),
        (
            "direction",
            (
                "direction= for '-61.20' (line 7), '-18.40' (line 8), '2,150.00' (line 9): 'minus is out' reads a "
                "minus as money that left the account, 'minus is in' as money that came in, and "
                "{'D/C': {'D': 'out', 'C': 'in'}} takes it from a column"
            ),
        ),
        (
            "not_booked",
            (
                "not_booked= names the rows that are not booked, such as {'Status': 'Pending'}, and {} says that there "
                "are none; Status has 'Pending' (1), 'Posted' (7)"
            ),
        ),
    ],
)
def test_a_decision_that_is_not_stated_is_refused_with_its_readings(left_out, message):
    stated = {name: value for name, value in BANK.items() if name not in {left_out, "balance"}}
    with pytest.raises(ImportRefusedError) as refused:
        aa.open_bank_file(IMPORTS / "bank_statement.csv", **stated)
    assert str(refused.value) == f"bank_statement.csv: nothing was read: decisions are not stated:\n- {message}"


def test_days_of_two_orders_are_shown_by_both(refusal):
    rows = HEAD + "03/04/2025,A,-1.00,\n"
    assert "'day month year' reads 3 Apr 2025; 'month day year' reads 4 Mar 2025" in refusal(rows, date_order=None)
    assert "'.' reads 1,234.00; ',' reads no amount" in refusal(HEAD + '2025-03-04,A,"1,234",\n', decimal_mark=None)
    assert "'.' reads 1.50; ',' reads no amount" in refusal(HEAD + "2025-03-04,A,1.50,\n", decimal_mark=None)


@pytest.mark.parametrize("name", ["account", "time_zone", "currency"])
def test_what_no_file_shows_is_a_required_argument(name):
    """Account, zone and currency have no reading that a file could offer."""
    with pytest.raises(TypeError, match=name):
        aa.open_bank_file("bank.csv", **{key: value for key, value in BANK.items() if key != name})


def test_missing_columns_name_the_headings(refusal):
    assert refusal(date=None, amount=None, balance=None, text=None) == (
        "no columns are named (date=, text=, amount=); its headings are 'Date', 'Payee', 'Amount', 'Balance'"
    )
    assert refusal(amount="Betrag").startswith("no line has the headings 'Betrag'; its headings are 'Date', 'Payee'")
    assert "date= names columns, of 'Date', 'Payee', 'Amount', 'Balance'" in refusal(date=None)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (ROWS, {}),
        (b"\xef\xbb\xbf" + ROWS.encode(), {}),
        (ROWS.encode("utf-16"), {}),
        (ROWS.replace("\n", "\r"), {}),
        (ROWS.replace("\n", "\r\n") + "\r\n\r\n", {}),
        (ROWS.replace(",", ";"), {}),
        (ROWS.replace(",", "\t"), {}),
        (ROWS.replace(",-", ",\N{MINUS SIGN}"), {}),
        (ROWS.replace("-900.00", "(900.00)").replace("-4.00", "4.00-"), {}),
        (ROWS.replace("-900.00", "-$900.00").replace(",50.00", ",USD 50.00"), {}),
        (ROWS.replace("100.00\n", "100.00,\n"), {}),
        (re.sub(r"2025-03-0(\d)", r"0\1.03.2025", ROWS), {"date_order": "day month year"}),
        (re.sub(r"2025-03-0(\d)", r"\1 Mar 2025", ROWS), {"date_order": "day month year"}),
        (re.sub(r"2025-03-0(\d)", r'"March \1, 2025"', ROWS), {"date_order": "month day year"}),
        (re.sub(r"2025-03-0(\d)", r"3/\1/25", ROWS), {"date_order": "month day year"}),
        (re.sub(r"2025-03-0(\d)", r"2025030\1", ROWS), {}),
        (re.sub(r"2025-03-0(\d)", r"2025-03-0\1 23:30", ROWS), {}),
        (re.sub(r"2025-03-0(\d)", r"2025-03-0\1T23:30:00-05:00", ROWS), {}),
        (re.sub(r"2025-03-0(\d)", r"2025-03-0\1 11:30 PM", ROWS), {}),
        (re.sub(r"(\d)\.00", r'"\1,00"', ROWS).replace('90"0,00"', '"900,00"'), None),
    ],
)
def test_forms_of_the_same_rows_are_the_same_books(opened, text, options):
    if options is None:
        text, options = ROWS.replace(",", ";").replace(".00", ",00"), {"decimal_mark": ","}
    books = opened(text, **options)
    assert moved(books) == ROWS_MOVED
    assert "Compared with the rows, and equal: the balance in 3 rows." in books.notes


@pytest.mark.parametrize(
    ("cell", "mark", "amount"),
    [
        ("1,234.50", ".", "1234.50"),
        ("1.234,50", ",", "1234.50"),
        ("1 234,50", ",", "1234.50"),
        ("1'234.50", ".", "1234.50"),
        ("1,234", ".", "1234.00"),
        ("12.500", ",", "12500.00"),
        ("1,23,456.00", ".", "123456.00"),
        (".50", ".", "0.50"),
        ("5.5", ".", "5.50"),
        ("+5", ".", "5.00"),
    ],
)
def test_amounts_are_exact(opened, cell, mark, amount):
    books = opened(f'{HEAD}2025-03-04,A,"{cell}",\n', decimal_mark=mark, balance=None)
    assert books.lines["amount"].tolist() == [float(amount)] * 2


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("1.234,50", "is not an amount with the decimal mark '.'; with ',' it is 1,234.50"),
        ("1,23", "is not an amount with the decimal mark '.'; with ',' it is 1.23"),
        (
            "12.500",
            (
                "is not an amount with the decimal mark '.', as 3 digits after the mark may be thousands; with ',' it "
                "is 12,500.00"
            ),
        ),
        ("1.2345", "is not an amount with the decimal mark '.' (4 digits after the mark, and the books have 2)"),
        ("€5.00", "is not an amount with the decimal mark '.' of USD: it is in €"),
        ("5.00 EUR", "is not an amount with the decimal mark '.' of USD: it is in EUR"),
        ("-5.00-", "is not an amount with the decimal mark '.' (it has two signs)"),
        ("-5.00 CR", "is not an amount with the decimal mark '.' (it has two signs)"),
        ("#REF!", "is not an amount with the decimal mark '.'"),
        ("5.0e3", "is not an amount with the decimal mark '.'"),
    ],
)
def test_an_amount_that_is_not_one_is_refused(refusal, cell, reason):
    assert refusal(f'{HEAD}2025-03-04,A,"{cell}",\n', balance=None) == f"line 2: {cell!r} {reason}"


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("31/03/2025", "; by 'day month year' it is 31 Mar 2025"),
        ("03/31/2025", "; by 'month day year' it is 31 Mar 2025"),
        ("2025-02-30", ""),
        ("2025-3", ""),
    ],
)
def test_a_day_of_another_order_is_refused(refusal, cell, reason):
    text = ROWS.replace("2025-03-04", cell)
    assert refusal(text) == f"line 3: {cell!r} is not a day by 'year month day'{reason}"


@pytest.mark.parametrize("month", ["marraskuu", "Ma", "Mär", "Marche"])
def test_other_names_of_months_are_refused(refusal, month):
    text = re.sub(r"2025-03-0(\d)", rf"\1 {month} 2025", ROWS)
    assert f"'4 {month} 2025' is not a day by 'day month year'" in refusal(text, date_order="day month year")


def test_days_that_are_in_order_only_by_another_order_are_refused(refusal, opened):
    text = HEAD + "01/02/2025,A,-1.00,\n02/02/2025,B,-1.00,\n03/01/2025,C,-1.00,\n01/03/2025,D,-1.00,\n"
    rows = HEAD + "04/01/2025,A,-1.00,\n01/02/2025,B,-1.00,\n03/02/2025,C,-1.00,\n"
    options = {"date_order": "month day year", "balance": None}
    assert "by date_order 'month day year' the days go up and down, and by 'day month year' they are in order" in (
        refusal(rows, **options)
    )
    assert len(opened(rows, **options, period="2025").lines) == 6
    assert len(opened(text, **options).lines) == 8


def test_a_row_outside_of_the_period_is_refused(refusal, opened):
    assert refusal(period=("2025-03-01", "2025-03-04")) == "line 4: 5 Mar 2025 is not in the period, 1 to 4 Mar 2025"
    assert opened(period="2025-03").period == aa.Period("2025-03-01", "2025-03-31", "America/New_York")


TWO_COLUMNS = (
    "Date,Payee,Paid out,Paid in,Balance\n2025-03-03,RENT,900.00,,100.00\n2025-03-04,SALES,0.00,50.00,150.00\n"
)


def test_columns_that_are_read_as_the_other_side_are_noted(opened):
    """Without balances nothing else contradicts a direction of two columns."""
    options = {"amount": ["Paid out", "Paid in"], "direction": ["in", "out"], "balance": None}
    books = opened(TWO_COLUMNS, **options)
    assert "'Paid out' was read as money in, by direction=, and is money out as banks write it." in books.notes
    assert not any(
        "as banks write it" in one for one in opened(TWO_COLUMNS, **options | {"direction": ["out", "in"]}).notes
    )


SIDES = "Date,Payee,Amount,D/C\n2025-03-03,RENT,900.00,D\n2025-03-04,SALES,50.00,C\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TWO_COLUMNS, {"amount": ["Paid out", "Paid in"], "direction": ["out", "in"]}),
        (TWO_COLUMNS.replace("900", "-900"), {"amount": ["Paid out", "Paid in"], "direction": ["minus is out", "in"]}),
        (SIDES, {"direction": {"D/C": {"D": "out", "C": "in"}}, "balance": None}),
        (ROWS.replace(",-900", ",+900").replace(",50", ",-50").replace(",-4", ",4"), {"direction": "minus is in"}),
    ],
)
def test_direction_may_be_columns_sides_or_signs(opened, text, options):
    assert moved(opened(text, **options))[:2] == ROWS_MOVED[:2]


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (
            TWO_COLUMNS.replace("900", "-900"),
            {"amount": ["Paid out", "Paid in"], "direction": ["out", "in"]},
            (
                "line 2: '-900.00' has a minus where all amounts are 'out': money out, written with a minus (direction "
                "'minus is out'), or money back (direction 'minus is in')"
            ),
        ),
        (
            TWO_COLUMNS.replace("0.00,50", "1.00,50"),
            {"amount": ["Paid out", "Paid in"], "direction": ["out", "in"], "balance": None},
            (
                "line 3: it has amounts in Paid out and Paid in, of which one row has one: their sum is read only "
                "where balance= is compared with it"
            ),
        ),
        (
            SIDES.replace(",C", ",K"),
            {"direction": {"D/C": {"D": "out", "C": "in"}}, "balance": None},
            "line 3: 'K' in 'D/C' is neither of 'D', 'C'",
        ),
        (
            TWO_COLUMNS,
            {"amount": ["Paid out", "Paid in"], "direction": None},
            (
                "decisions are not stated:\n- direction= for '900.00' (line 2), '0.00' (line 3), '50.00' (line 3): one "
                "for each of Paid out, Paid in, ['out', 'in'] or ['in', 'out']"
            ),
        ),
    ],
)
def test_a_direction_with_two_readings_is_refused(refusal, text, options, reason):
    assert refusal(text, **options) == reason


@pytest.mark.parametrize(
    ("kept", "old", "new", "reason"),
    [
        # a missing row, a doubled one, a wrong direction, a wrong decimal mark
        ((0, 2), "", "", "line 3: the balance of 146.00 is stated, and 96.00 follows"),
        ((0, 1, 1, 2), "", "", "line 4: the balance of 150.00 is stated, and 200.00 follows"),
        ((0, 1, 2), "50.00,1", "-50.00,1", "line 3: the balance of 150.00 is stated, and 50.00 follows"),
        ((0, 1, 2), "SALES,50.00", "SALES,5000", "line 3: the balance of 150.00 is stated, and 5,100.00 follows"),
    ],
)
def test_balances_that_do_not_follow_are_refused(refusal, kept, old, new, reason):
    head, *rows = ROWS.replace(old, new).splitlines(keepends=True)
    assert refusal("".join([head, *(rows[one] for one in kept)])).startswith(reason)


@pytest.mark.parametrize(
    ("options", "compared"),
    [
        ({}, "Compared with the rows, and equal: the balance in 3 rows."),
        (
            {"opening": "1000", "closing": Decimal("146.00")},
            "Compared with the rows, and equal: the opening balance, the balance in 3 rows, the closing balance.",
        ),
        (
            {"balance": None, "opening": 1000, "closing": "146.00"},
            "Compared with the rows, and equal: the opening balance, the closing balance.",
        ),
        ({"balance": None, "opening": "1000.00"}, "Nothing was compared"),
        ({"balance": None, "closing": "146.00"}, "Nothing was compared"),
        ({"balance": None}, "Nothing was compared"),
    ],
)
def test_what_was_compared_is_said(opened, options, compared):
    books = opened(**options)
    assert any(note.startswith(compared) for note in books.notes)
    is_unread = "'Balance' was not compared with the rows: balance='Balance' does so." in books.notes
    assert is_unread is ("balance" in options)
    known = options != {"balance": None}
    assert books.opening.is_movement is not known
    if known:
        assert value(aa.balance_sheet(books), "assets:bank:checking") == Decimal("146.00")


@pytest.mark.parametrize(
    "options", [{"opening": "999"}, {"closing": "147"}, {"balance": None, "opening": 1, "closing": 2}]
)
def test_a_stated_balance_that_is_wrong_is_refused(refusal, options):
    assert "is stated, and" in refusal(**options)


def test_balances_that_the_file_states_around_its_rows_are_compared(refusal, opened):
    text = "Opening balance,1000.00\nClosing balance,146.00\n\n" + ROWS
    both = "Compared with the rows, and equal: the opening balance, the balance in 3 rows, the closing balance."
    assert both in opened(text).notes
    assert "line 2: the closing balance of 147.00 is stated, and 146.00 follows" in refusal(
        text.replace("146.00\n\n", "147.00\n\n")
    )
    dayless = HEAD + ",Opening balance,,1000.00\n" + ROWS.removeprefix(HEAD) + ",Closing balance,,146.00\n"
    assert both in opened(dayless).notes
    assert "line 6: the closing balance of 140.00" in refusal(
        dayless.replace("146.00\n,", "146.00\n,").replace(",,146", ",,140")
    )
    dated = HEAD + "2025-03-01,Balance brought forward,,1000.00\n" + ROWS.removeprefix(HEAD)
    assert moved(opened(dated)) == ROWS_MOVED


def test_a_card_owes_what_its_balances_state(opened):
    card = HEAD + "2025-03-03,FUEL,40.00,140.00\n2025-03-04,PAYMENT,-100.00,40.00\n"
    options = {"account": "liabilities:card", "direction": "minus is in"}
    for text in (card, re.sub(r"(\d+\.00)$", r"-\1", card, flags=re.MULTILINE)):
        books = opened(text, **options)
        assert moved(books) == [("03-03", "FUEL", -40.0), ("03-04", "PAYMENT", 100.0)]
        assert value(aa.balance_sheet(books), "liabilities:card") == Decimal("40.00")
    assert value(aa.balance_sheet(opened(card, **options, opening="100", closing=40)), "liabilities:card") == 40


def test_totals_are_compared_and_left_out(opened, refusal):
    text = ROWS + "Total,,-854.00,\n"
    assert moved(opened(text)) == ROWS_MOVED
    assert "Rows of totals agree with the rows above them: line 5." in opened(text).notes
    assert refusal(ROWS + "Total,,-850.00,\n") == (
        "line 5: it has no day ('Total, -850.00'), and '-850.00' is not the total -854.00 of the rows above: a row "
        "without a day is not booked; not_booked={'Date': 'Total'} leaves such rows out"
    )
    assert moved(opened(ROWS + "\n\nExported on 5 March 2025\n")) == ROWS_MOVED


@pytest.mark.parametrize("word", ["Pending", "VOIDED", "Declined", "cancelled"])
def test_a_row_that_sounds_unbooked_is_refused_until_it_is_decided(refusal, opened, word):
    text = ROWS.replace(HEAD, "Date,Payee,Amount,Balance,State\n").replace("0\n", "0,Done\n")
    text = text.replace("146.00,Done", f"146.00,{word}")
    assert refusal(text) == (
        f"line 4: {word!r} in 'State': is it booked? not_booked={{'State': {word!r}}} leaves such rows out, and "
        "not_booked={'State': []} books them"
    )
    assert moved(opened(text, not_booked={"State": []})) == ROWS_MOVED
    assert moved(opened(text, not_booked={"State": [word]})) == ROWS_MOVED[:2]


def test_a_balance_that_is_a_payee_is_refused(refusal, opened):
    """A row of the closing balance with an amount is a payment or a balance."""
    text = ROWS + "2025-03-05,Closing Balance,146.00,\n"
    assert "line 5: 'Closing Balance' in 'Payee': is it a payment or a balance?" in refusal(text, balance=None)
    left = {"not_booked": {"Payee": "Closing Balance"}}
    assert moved(opened(text, **left)) == ROWS_MOVED


@pytest.mark.parametrize(
    ("column", "texts", "more"),
    [("Currency", ("USD", "EUR"), {"Currency": "USD"}), ("Account number", ("1", "2"), {"Account number": "1"})],
)
def test_two_currencies_or_accounts_are_refused(refusal, opened, column, texts, more):
    head, *rows = ROWS.splitlines()
    marked = [f"{row},{texts[0]}" for row in rows] + [f"2025-03-06,OTHER,-1.00,5.00,{texts[1]}"]
    text = "\n".join([f"{head},{column}", *marked])
    assert refusal(text).startswith(
        f"the column {column!r} has several texts, {texts[1]!r} (line 5)"
        if column == "Currency"
        else f"the column {column!r} has several texts, '1' (line 2), '2' (line 5)"
    )
    books = opened(text, only=more)
    assert moved(books) == ROWS_MOVED
    assert "Not read by only=: 1 row." in books.notes


def test_a_second_account_below_its_name_is_refused(refusal, opened):
    text = ROWS + "\nSavings 8813,,,\n2025-03-03,INTEREST,1.00,\n"
    assert refusal(text, balance=None) == (
        "line 7: its day is before or after the order of the rows above, and line 6 'Savings 8813' is between: rows of "
        "another account need a file of their own; of the same one, remove that line"
    )
    assert moved(opened(ROWS.replace("2025-03-05", ",to card 8813,,\n2025-03-05"))) == ROWS_MOVED


def test_several_commodities_are_refused(refusal):
    text = "Date,Payee,Asset,Amount\n2025-03-03,BUY,BTC,0.50\n2025-03-03,BUY,USD,-900.00\n"
    assert refusal(text, balance=None).startswith(
        "the column 'Asset' has several texts, 'BTC' (line 2), 'USD' (line 3)"
    )


def test_a_file_of_another_currency_is_refused(refusal):
    text = ROWS.replace("Balance\n", "Balance,Currency\n").replace("0\n", "0,EUR\n")
    assert refusal(text) == "line 2: 'Currency' says 'EUR', and currency= 'USD'"


def test_two_tables_in_one_file_are_refused(refusal):
    assert refusal(ROWS + "\n" + ROWS) == (
        "line 6: the headings are here again, so the file has several tables: make a file of each"
    )


def test_ids_of_the_file_are_those_of_entries(opened, refusal):
    text = ROWS.replace("Balance\n", "Balance,Id\n")
    text = (
        re.sub(r"(\d)\.00\n", r"\1.00,T\1\n", text).replace("100.00,T0", "100.00,T1").replace("150.00,T0", "150.00,T2")
    )
    ids = opened(text, entry_id="Id").lines["journal_entry_id"].unique()
    assert [one.rpartition("-")[2] for one in ids[1:]] == ["T1", "T2", "T6"]
    assert (
        refusal(text.replace("T2", "T1"), entry_id="Id")
        == "line 3: Id 'T1' is that of line 2 too: each row has its own"
    )
    twice = HEAD + "2025-03-04,COFFEE,-4.00,6.00\n2025-03-04,COFFEE,-4.00,2.00\n"
    first, second = sorted(opened(twice).lines["journal_entry_id"].unique())[:2]
    assert (first[:-1], first[-1], second[-1]) == (second[:-1], "1", "2")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (HEAD, "it has no rows below its headings"),
        (ROWS.replace("RENT", "RENT, MARCH"), "line 2: it has 5 cells, the headings have 4: a text or an amount with"),
        (ROWS.replace("-4.00", ""), "line 4: the balance of "),
        (ROWS.replace("-4.00,146.00", ","), "line 4: it has no amount"),
        (ROWS.replace("RENT", '"RENT'), "it is not valid CSV"),
        (ROWS.replace("RENT", "LOYER D'ÉTÉ").encode("latin-1"), "it cannot be read as utf-8"),
        (b"PK\x03\x04rest", "it is a workbook or a PDF, not CSV"),
        (ROWS.encode("utf-16-le"), "it has NUL bytes, so it is not CSV in UTF-8"),
        (HEAD + "2025-03-04,A,0.00,5.00\n", "it has no booked row; rows of 0.00 were left out: line 2"),
        (HEAD + "2025-03-04,A,1.00,5.00\n".replace(",", ";"), "left out: line 2 '2025-03-04;A;1.00;5.00'"),
        (HEAD + "Total,,0.00,\n", "it has no booked row"),
    ],
)
def test_unreadable_file_is_refused_with_reason_and_line(refusal, text, reason):
    assert reason in refusal(text)


def test_another_encoding_is_named(opened):
    for encoding in ("latin-1", "utf-16-le"):
        books = opened(ROWS.replace("RENT", "LOYER D'ÉTÉ").encode(encoding), encoding=encoding)
        assert moved(books)[0][1] == "LOYER D'ÉTÉ"
    assert moved(opened(b"\xef\xbb\xbf" + ROWS.encode(), encoding="cp1252")) == ROWS_MOVED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"account": "income:sales"}, "account is 'income:sales': a bank account is a path below assets"),
        ({"currency": " "}, "currency is empty"),
        ({"date_order": "%m/%d/%Y"}, "date_order is '%m/%d/%Y', and not one of 'day month year'"),
        ({"decimal_mark": ";"}, "decimal_mark is ';', and not one of '.', ','"),
        ({"direction": "negative"}, "direction is 'negative', and not one of 'minus is out'"),
        ({"direction": ["out", "in"]}, "direction has 2 for 1 columns of amounts"),
        ({"amount": ["Amount", "Amount"], "direction": ["out", "in"]}, "amount names a column twice"),
        ({"direction": {"D/C": "D"}}, "direction is {'D/C': 'D'}"),
        ({"opening": 1.5}, "opening: an amount is exact number text"),
        ({"not_booked": "Pending"}, "not_booked is of type str"),
        ({"decisions": {"nobody": "expenses:rent"}}, "'nobody' is neither a group nor a transaction of the queue"),
    ],
)
def test_unusable_argument_is_refused_before_rows(opened, options, message):
    with pytest.raises(AccountingAnalyticsError, match=re.escape(message)):
        opened(**options)


def test_decisions_and_rules_are_those_of_the_edit_loop(opened, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "rent"\ncontains = "RENT"\ncategory = "expenses:rent"\n', encoding="utf-8")
    books = opened(rules=rules, categories=["expenses:meals", "income:sales"])
    review = aa.review(books)
    groups = dict(zip(review.rows["counterparty"], review.rows["group_id"], strict=True))
    assert set(groups) == {"SALES", "COFFEE"}
    review.assign(groups["COFFEE"], "meals")
    review.save(tmp_path / "decisions.csv")
    with pytest.raises(InputError, match="save\\(path\\) keeps what was decided, for decisions= of open_bank_file"):
        review.plan()
    again = opened(rules=rules, decisions=tmp_path / "decisions.csv", categories=["income:sales"])
    income = aa.income_statement(again)
    assert (value(income, "expenses:rent"), value(income, "expenses:meals")) == (Decimal(900), Decimal(4))
    assert aa.uncategorized_queue(again)["counterparty"].tolist() == ["SALES"]
    decided = opened(rules=rules, decisions=[tmp_path / "decisions.csv", {groups["SALES"]: "income:sales"}])
    assert value(aa.income_statement(decided), "not_categorized") == 0
    assert value(aa.income_statement(decided), "income:sales") == Decimal(50)


def test_statements_know_what_the_ledgers_are(opened):
    note = next(
        one for one in aa.income_statement(opened(categories=["expenses:rent"])).notes if "ledgers are those" in one
    )
    assert re.search(
        r"those with entries in bank.csv \(sha256 \w+\) and those that were named for it, and their parents", note
    )


PENDING = "Date,Payee,Amount,State,Posted Date\n2025-03-03,RENT,-900.00,Done,2025-03-04\n2025-03-04,SALES,50.00,{}\n"
TWO = {"balance": None}


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        (PENDING.format("Umsatz vorgemerkt,2025-03-05"), {"State": "Umsatz vorgemerkt"}),
        (PENDING.format("REVERTED,2025-03-05"), {"State": "REVERTED"}),
        (PENDING.format("Payment pending,2025-03-05"), {"State": "Payment pending"}),
        (PENDING.format("Done,"), {"Posted Date": ""}),
        (PENDING.replace("State", "Pending").replace("Done", "false").format("true,2025-03-05"), {"Pending": "true"}),
        (PENDING.replace("State", "Balance Impact").format("Memo,2025-03-05"), {"Balance Impact": "Memo"}),
    ],
)
def test_a_row_whose_columns_say_that_it_is_not_booked_is_decided(refusal, opened, text, decision):
    ((column, cell),) = decision.items()
    assert refusal(text, **TWO) == (
        f"line 3: {cell!r} in {column!r}: is it booked? not_booked={decision} leaves such rows out, and "
        f"not_booked={ {column: []} } books them"
    )
    assert moved(opened(text, not_booked=decision, **TWO)) == ROWS_MOVED[:1]
    assert moved(opened(text, not_booked={column: []}, **TWO)) == ROWS_MOVED[:2]


def test_a_further_decision_is_added_to_those_that_are_stated(refusal, opened):
    text = PENDING.format("Reversed,2025-03-05") + "2025-03-05,COFFEE,-4.00,Pending,2025-03-05\n"
    assert (
        "not_booked={'State': ['Pending', 'Reversed']} leaves such rows out; to book them, name all texts that are"
        in (refusal(text, not_booked={"State": "Pending"}, **TWO))
    )
    read = {"only": {"State": ["Done", "Reversed"]}, "not_booked": {"State": []}}
    assert moved(opened(text, **read, **TWO)) == ROWS_MOVED[:2]


@pytest.mark.parametrize(
    ("column", "out", "money_in"),
    [
        *(("S/H", "S", "H"), ("Transaction", "DEBIT", "CREDIT"), ("Af Bij", "Af", "Bij"), ("Type", "Debit", "Credit")),
        *(
            ("DrCr", "Dr", "Cr"),
            ("Sign", "-", "+"),
            ("Type", "Money out", "Money in"),
            ("Umsatztyp", "Ausgang", "Eingang"),
        ),
    ],
)
def test_a_column_of_sides_that_contradicts_the_direction_is_refused(refusal, opened, column, out, money_in):
    text = f"Date,Payee,Amount,{column}\n2025-03-03,RENT,{{}}900.00,{out}\n2025-03-04,SALES,50.00,{money_in}\n"
    stated = {column: {out: "out", money_in: "in"}}
    found = refusal(text.format(""), **TWO)
    assert found.startswith(
        f"line 2: {out!r} in {column!r} is money out as banks write it, and by direction= it is money in"
    )
    assert re.search(r"direction=\{.*\} takes it from there", found)
    assert "direction='minus is out' agrees with all rows" in refusal(text.format("-"), direction="minus is in", **TWO)
    assert repr({column: {one: stated[column][one] for one in sorted(stated[column])}}) in refusal(
        text.format(""), direction=None, **TWO
    )
    for written, direction in (("", stated), ("-", "minus is out")):
        assert moved(opened(text.format(written), direction=direction, **TWO)) == ROWS_MOVED[:2]


@pytest.mark.parametrize(
    ("heading", "cell", "reason"),
    [
        ("W\u00e4hrung", "EUR", "line 2: 'W\u00e4hrung' says 'EUR', and currency= 'USD'"),
        ("Amount (EUR)", "", "the heading 'Amount (EUR)' says EUR, and currency= 'USD'"),
        ("Amount (\u20ac)", "", "the heading 'Amount (\u20ac)' says EUR, and currency= 'USD'"),
        ("Amount in CHF", "", "the heading 'Amount in CHF' says CHF, and currency= 'USD'"),
    ],
)
def test_another_currency_in_a_heading_or_column_is_refused(refusal, heading, cell, reason):
    amount = heading if heading.startswith("Amount") else "Amount"
    text = f"Date,Payee,{amount},{heading if cell else 'Note'}\n2025-03-03,RENT,-900.00,{cell}\n"
    assert refusal(text, amount=amount, **TWO) == reason


def test_several_currencies_without_codes_are_refused(refusal):
    text = "Date,Payee,Amount,Currency\n2025-03-03,RENT,-900.00,US$\n2025-03-04,SALES,50.00,Euro\n"
    assert refusal(text, **TWO).startswith("the column 'Currency' has several texts, 'Euro' (line 3), 'US$' (line 2)")


FEES = (
    "Date,Payee,Gross,Fee,Net,Balance\n2025-03-03,SALE,100.00,-3.20,96.80,196.80\n"
    "2025-03-05,PAYOUT,-150.00,0.00,-150.00,46.80\n"
)


def test_amounts_before_fees_are_refused(refusal, opened):
    assert refusal(FEES, amount="Gross", **TWO) == (
        "line 2: 'Net' is 'Gross' after 'Fee', which amount= does not have: name 'Net', or ['Gross', 'Fee']"
    )
    books = opened(FEES, amount="Net")
    assert moved(books) == [("03-03", "SALE", 96.8), ("03-05", "PAYOUT", -150.0)]
    assert "'Fee' has amounts in 1 row, such as line 2, which were not read beside those of Net." in books.notes
    both = {"amount": ["Gross", "Fee"], "direction": ["minus is out"] * 2}
    assert moved(opened(FEES, **both, opening=100)) == moved(books)
    assert refusal(FEES, **both) == (
        "line 2: it has several amounts and no balance before it proves their sum: state opening="
    )


@pytest.mark.parametrize(
    ("rows", "openings"),
    [
        ("2025-03-03,A,10.00,110.00\n2025-03-03,B,-10.00,100.00\n", ("100.00", "110.00")),
        ("2025-03-03,A,10.00,110.00\n2025-03-03,B,-5.00,\n", ("100.00", "105.00")),
    ],
)
def test_balances_that_fit_in_two_orders_are_refused(refusal, opened, rows, openings):
    assert refusal(HEAD + rows).startswith(
        f"the balances fit an opening balance of {' or of '.join(openings)}, as nothing"
    )
    for one in openings:
        assert value(
            aa.balance_sheet(opened(HEAD + rows, opening=one)), "Opening Balance Retained Earnings"
        ) == Decimal(one)


@pytest.mark.parametrize("is_down", [False, True])
def test_days_and_their_rows_may_go_two_ways(opened, is_down):
    rows = [
        "2025-03-03,A,1.00,101.00\n",
        "2025-03-03,B,2.00,103.00\n",
        "2025-03-04,C,3.00,106.00\n",
        "2025-03-04,D,4.00,110.00\n",
    ]
    order = (2, 3, 0, 1) if is_down else (1, 0, 3, 2)
    books = opened(HEAD + "".join(rows[one] for one in order))
    assert "Compared with the rows, and equal: the balance in 4 rows." in books.notes
    assert value(aa.balance_sheet(books), "Opening Balance Retained Earnings") == Decimal(100)


def test_a_card_of_one_balance_is_owed_or_is_money_on_it(refusal, opened):
    text = HEAD + "2025-03-03,FUEL,40.00,140.00\n"
    options = {"account": "liabilities:card", "direction": "minus is in"}
    assert refusal(text, **options) == (
        "the balances fit an opening balance of 100.00 or of -180.00, as nothing says whether a balance with a minus "
        "is owed: state opening= or closing=, as the statement prints it"
    )
    assert value(aa.balance_sheet(opened(text, **options, opening=100)), "liabilities:card") == Decimal(140)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (
            HEAD + "2025-03-03,A,-4.00,96.00\n,B,-4.00,92.00\n",
            {},
            "line 3: it has an amount and no day ('B, -4.00, 92.00')",
        ),
        (ROWS + "Total,,-854.00,147.00\n", {}, "line 5: the closing balance of 147.00 is stated, and 146.00 follows"),
        (
            ROWS.replace("-900.00", "900.00").replace(",50", ",-50").replace("-4", "4"),
            {},
            "follow if money goes the other",
        ),
        (ROWS.replace("-900.00", ""), {"balance": None}, "not_booked={'Payee': 'RENT'} leaves such rows out"),
        (
            "Date,Payee,Amount,Note\n2025-03-03,A,-1,234.50\n",
            TWO,
            "line 2: '-1' in 'Amount' and '234.50' in 'Note' are two",
        ),
        (
            "Date,Payee,Amount\n2025-03-03,A,5.00\n2025-03-04,B,5.00 CR\n",
            TWO,
            "would go the same way by direction 'minus is out'",
        ),
        (
            "Date,Payee,Amount\n2025-03-03,A,5.00 CR\n",
            {**TWO, "direction": "out"},
            "'5.00 CR' says CR, and all amounts",
        ),
        (ROWS + "2025-03-05,Ending balance as of 03/05/2025,146.00,\n", {}, "is it a payment or a balance?"),
        (HEAD + "2025-03-03T00:00:00Z,A,1.00,\n", {}, "all instants are midnights of UTC"),
        (
            ROWS.replace("COFFEE,-4", "COFFEE 4"),
            {},
            "line 4: it has 3 cells, and ends before 'Balance': a separator is",
        ),
        (
            "Date,Id,Payee,Amount\n" + "2025-03-03,T1,A,1.00\n" * 2,
            TWO,
            "line 3: it is equal to line 2, and Id 'T1' is of one row",
        ),
    ],
)
def test_a_row_that_could_be_read_wrong_is_refused(refusal, text, options, reason):
    assert reason in refusal(text, **options)


INDIA = "Date,Payee,Out,In,Balance\n3 Mar 2025,RENT,900.00,-,100.00 CR\n4 Mar 2025,SALES,-,50.00,150.00Cr\n"
BOA = (
    "Description,,Summary\nBeginning balance as of 03/03/2025,,1000.00\nEnding balance as of 03/04/2025,,150.00\n\n"
    "Date,Payee,Amount,Balance\n03/03/2025,Beginning balance as of 03/03/2025,,1000.00\n"
    "03/03/2025,RENT,-900.00,100.00\n03/04/2025,SALES,50.00,150.00\n"
)
MONTHS = {"date_order": "month day year", "period": "2025-03"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (INDIA, {"amount": ["Out", "In"], "direction": ["out", "in"], "date_order": "day month year"}),
        ("Date,Payee,Amount\n2025-03-03,RENT,900.00\n2025-03-04,SALES,50.00 CR\n", {**TWO, "direction": "minus is in"}),
        ("Date,Payee,Amount\n2025-03-03,RENT,900.00 DR\n2025-03-04,SALES,50.00\n", TWO),
        (BOA, MONTHS),
        (BOA, {**MONTHS, **TWO}),
        ('Date,Payee,Amount\n="2025-03-03",RENT,"=""-900.00"""\n\'2025-03-04,SALES,\'50.00\n', TWO),
        (
            'Date,Payee,Amount\nMon 3 Mar 2025,RENT,-900\n"Tuesday, 4 March 2025",SALES,50\n',
            {**TWO, "date_order": "day month year"},
        ),
        (
            'Date,Payee,Amount\n"03/03/2025, 10:00:00",RENT,-900\n"03/04/2025, 10:00:00 PM",SALES,50\n',
            {**TWO, **MONTHS},
        ),
        (
            "Created (UTC),Payee,Amount\n2025-03-04 02:30,RENT,-900\n2025-03-05 03:00,SALES,50\n",
            {**TWO, "date": "Created (UTC)"},
        ),
        ("Date,Payee,Amount\n2025-03-04 02:30:00 UTC,RENT,-900\n2025-03-05T03:00:00.123+00,SALES,50\n", TWO),
        (
            "Date,Payee,Amount\n2025-03-03T00:00:00Z,RENT,-900\n2025-03-04T00:00:00Z,SALES,50\n",
            {**TWO, "midnights": "days"},
        ),
        (ROWS.removesuffix("2025-03-05,COFFEE,-4.00,146.00\n") + ",Pending balance,,99.00\n", {}),
    ],
)
def test_forms_of_days_amounts_and_balances_are_read(opened, text, options):
    assert moved(opened(text, **options)) == ROWS_MOVED[:2]


def test_days_of_another_order_are_noted(opened):
    text = HEAD + "01/03/2025,A,1.00,\n02/03/2025,B,1.00,\n"
    note = (
        "The days are 3 Jan 2025 to 3 Feb 2025 by date_order 'month day year', and would be 1 Mar 2025 to 2 Mar 2025 "
        "by 'day month year': period= compares them with the days of the statement."
    )
    assert note in opened(text, date_order="month day year", balance=None).notes
    with pytest.raises(ImportRefusedError, match="3 Jan 2025 is not in the period"):
        opened(text, date_order="month day year", balance=None, period="2025-03")


@settings(max_examples=40)
@given(units=st.lists(st.integers(-500, 1000).filter(bool), min_size=2, max_size=6), is_negative=st.booleans())
def test_a_card_is_read_in_one_direction_only(tmp_path_factory, units, is_negative):
    owed, lines = 10_000, []
    for number, one in enumerate(units):
        owed += one
        balance = -owed if is_negative else owed
        lines.append(f"2025-03-{number + 1:02},P{number},{Decimal(one) / 100:.2f},{Decimal(balance) / 100:.2f}\n")
    file = tmp_path_factory.mktemp("card") / "card.csv"
    file.write_text(HEAD + "".join(lines), encoding="utf-8")
    options = {**PLAIN, "account": "liabilities:card"}
    books = aa.open_bank_file(file, **options | {"direction": "minus is in"})
    assert value(aa.balance_sheet(books), "liabilities:card") == Decimal(owed) / 100
    with pytest.raises(ImportRefusedError, match="would not be owed, but money on the card: direction= is wrong"):
        aa.open_bank_file(file, **options)


FORMS_OF_DECISIONS = {
    "decimal_mark": [".", ","],
    "date_order": ["day month year", "month day year", "year month day"],
    "direction": ["minus is out", "minus is in"],
}
amounts = st.integers(-(10**9), 10**9).filter(bool)
FORMS = st.fixed_dictionaries(
    {
        "mark": st.sampled_from(".,"),
        "grouped": st.booleans(),
        "order": st.sampled_from(["day month year", "month day year", "year month day"]),
        "separator": st.sampled_from(",;\t"),
        "is_backwards": st.booleans(),
        "direction": st.sampled_from(["minus is out", "minus is in"]),
        "encoding": st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
        "end": st.sampled_from(["\n", "\r\n", "\r"]),
    }
)


def written_amount(units, form):
    text = f"{Decimal(units) / 100:{',' if form['grouped'] else ''}.2f}"
    return text.translate(str.maketrans(",.", ".,")) if form["mark"] == "," else text


def written(rows, opening, form):
    """Write rows of (day, units) with their balances as a file in a form."""
    lines, balance = [], opening
    pattern = {"day month year": "%d/%m/%Y", "month day year": "%m/%d/%Y", "year month day": "%Y-%m-%d"}[form["order"]]
    for number, (day, units) in enumerate(rows):
        balance += units
        shown = units if form["direction"] == "minus is out" else -units
        cells = [f"{day:{pattern}}", f"PAYEE {number}", written_amount(shown, form), written_amount(balance, form)]
        lines.append(form["separator"].join(f'"{one}"' for one in cells))
    lines = lines[::-1] if form["is_backwards"] else lines
    text = form["end"].join([form["separator"].join(("Date", "Payee", "Amount", "Balance")), *lines, ""])
    return text.encode(form["encoding"])


entries = st.lists(st.tuples(st.dates(dt.date(2024, 1, 1), dt.date(2025, 12, 31)), amounts), min_size=2, max_size=8)


@settings(max_examples=60)
@given(rows=entries, opening=st.integers(-(10**7), 10**7), form=FORMS, seed=st.integers(0, 10**6))
def test_rows_in_any_form_are_read_exactly_and_a_damaged_file_never(tmp_path_factory, rows, opening, form, seed):
    rows = sorted(rows, key=lambda row: row[0])
    file = tmp_path_factory.mktemp("bank") / "bank.csv"
    options = {**PLAIN, "date_order": form["order"], "decimal_mark": form["mark"], "direction": form["direction"]}
    file.write_bytes(written(rows, opening, form))
    books = aa.open_bank_file(file, **options, period=("2024-01-01", "2025-12-31"))
    own = books.lines[(books.lines["ledger_name"] == "checking")]
    own = own[own["journal_entry_description"] != "Opening balance"]
    found = dict(zip(own["transaction_description"], (own["signed_amount"] * 100).round().astype(int), strict=True))
    assert found == {f"PAYEE {number}": units for number, (_, units) in enumerate(rows)}
    days = pd.DatetimeIndex(own["datetime"]).tz_convert("America/New_York").date
    assert sorted(days) == [day for day, _ in rows]
    sheet = aa.balance_sheet(books)
    assert value(sheet, "assets:bank:checking") == Decimal(opening + sum(units for _, units in rows)) / 100
    lines = written(rows, opening, form).decode(form["encoding"]).split(form["end"])
    place = 1 + seed % len(rows)
    file.write_bytes(form["end"].join([*lines[:place], lines[place], *lines[place:]]).encode(form["encoding"]))
    with pytest.raises(ImportRefusedError):
        aa.open_bank_file(file, **options)


@example(
    rows=[(dt.date(2024, 5, 5), 908), (dt.date(2024, 5, 5), 535), (dt.date(2025, 10, 10), 1135355)],
    opening=-103,
    form={
        "mark": ".",
        "grouped": True,
        "order": "day month year",
        "separator": ",",
        "is_backwards": False,
        "direction": "minus is in",
        "encoding": "utf-8",
        "end": "\n",
    },
    wrong="date_order",
)
@settings(max_examples=60)
@given(
    rows=entries, opening=st.integers(-(10**7), 10**7), form=FORMS, wrong=st.sampled_from(sorted(FORMS_OF_DECISIONS))
)
def test_a_wrong_decision_is_refused_or_said(tmp_path_factory, rows, opening, form, wrong):
    rows = sorted(rows, key=lambda row: row[0])
    file = tmp_path_factory.mktemp("bank") / "bank.csv"
    file.write_bytes(written(rows, opening, form))
    right = {"date_order": form["order"], "decimal_mark": form["mark"], "direction": form["direction"]}
    days = {day for day, _ in rows}
    for other in FORMS_OF_DECISIONS[wrong]:
        try:
            books = aa.open_bank_file(file, **{**PLAIN, **right, wrong: other})
        except ImportRefusedError:
            assert other != right[wrong]
            continue
        own = books.lines[books.lines["journal_entry_description"].str.startswith("PAYEE")]
        found = {day.date() for day in own["local_date"]}
        if other != right[wrong] and found == days and wrong != "date_order":
            assert len(days) == len({units for _, units in rows}) == 1, rows  # equal rows of one day fit backwards
        elif other != right[wrong] and any(day.day != day.month for day in days):  # else both orders read the same days
            assert any(f"by date_order {other!r}, and would be" in note for note in books.notes)
