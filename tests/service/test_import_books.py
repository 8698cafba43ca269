"""Import of books: the chart of accounts, the entries, and that a refused file changes nothing."""

from pathlib import Path

import pytest
from sqlalchemy import update

from accounting_analytics.core.errors import BooksDoNotTieError, ImportRefusedError, InputError
from accounting_analytics.service import tables
from accounting_analytics.service.database import Store
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.instances import NewInstance, create_instance
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.stored_values import instance_suffix

DATA = Path(__file__).parents[2] / "data"
HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount"
RENT = "rent,2025-01-02,Rent,expenses:premises:rent,debit,1450.00\nrent,2025-01-02,Rent,assets:bank,credit,1450.00\n"


@pytest.fixture
def instance_id(store):
    """Return the id of an empty instance with days in UTC."""
    return create_instance(store, NewInstance(localtime="UTC"))


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a line table with the given rows."""

    def write(rows, *, more="", name="lines.csv"):
        path = tmp_path / name
        path.write_text(f"{HEADER}{more}\n{rows}", encoding="utf-8")
        return path

    return write


def paths(store, instance_id):
    """Ledgers of an instance by the path of their names."""
    by_id = {ledger.id: ledger for ledger in store.ledgers(instance_id)}

    def path(ledger):
        return f"{path(by_id[ledger.parent_id])}:{ledger.name}" if ledger.parent_id else ledger.name

    return {path(ledger): ledger for ledger in by_id.values()}


def rows_of(store, table):
    """Every row of a database table."""
    with store.reading() as connection:
        return connection.exec_driver_sql(f"select * from {table}").mappings().all()  # noqa: S608 (our own table names)


def test_a_line_table_becomes_ledgers_and_entries(store):
    books = create_instance(store)
    cash = ["assets:bank:*", "LIABILITIES:Card"]
    summary = import_books(store, books, DATA / "sample_lines.csv", cash=cash, time_zone="America/New_York")
    assert (summary.entries, summary.lines) == (8, 19)
    assert summary.frame.loc[0, "entries"] == 8
    assert summary.cash == ("assets:bank:checking", "assets:bank:savings", "liabilities:card")
    ledgers = paths(store, books)
    assert len(ledgers) == 4 + summary.ledgers
    assert ledgers["assets:bank"].type == "asset"
    assert not ledgers["assets:bank"].report_cash_flow
    assert ledgers["assets:bank:savings"].financial_account_type == "bank_account"
    assert ledgers["assets:bank:savings"].report_cash_flow
    assert ledgers["liabilities:card"].financial_account_type == "credit_card"
    assert ledgers["expenses:office:postage"].parent_id == ledgers["expenses:office"].id
    assert ledgers["revenue:consulting"].debit_credit == "credit"
    transactions = {row["id"]: row for row in rows_of(store, "transactions")}
    assert len(transactions) == 11
    card = transactions[f"txn-card-1{instance_suffix(books)}"]
    assert card["description"] == "SQ *BLUE BTTL 0423 SF CA"
    assert card["source_account_id"] == "ext-card"
    assert {row["name"] for row in rows_of(store, "tags")} == {"wholesale", "move", "front office"}


def test_required_ledgers_are_found_by_name_or_id(store, instance_id, table):
    by_name = {ledger.name: ledger for ledger in store.ledgers(instance_id)}
    waiting, opening = by_name["Uncategorized Cash Outflow"], by_name["Opening Balance Retained Earnings"]
    rows = (
        f"a,2025-01-02,Opening,assets:bank,debit,10\na,2025-01-02,Opening,{opening.id},credit,10\n"
        f"b,2025-01-03,SQ,{waiting.name},debit,4\nb,2025-01-03,SQ,assets:bank,credit,4\n"
    )
    summary = import_books(store, instance_id, table(rows), cash=["assets:bank"])
    assert summary.ledgers == 2
    assert len(store.ledgers(instance_id)) == 6


def test_the_first_segment_is_the_type(store, instance_id, table):
    types = {
        "Assets:Bank": ("asset", "current_assets"),
        "ASSETS:Fixed:Van": ("asset", "non-current_assets"),
        "liabilities:mortgage": ("liability", "non-current_liabilities"),
        "liabilities:card": ("liability", "current_liabilities"),
        "Equity:Owner": ("equity", "equity"),
        "Income:Salary": ("revenue", "operating_revenues"),
        "revenue:interest": ("revenue", "other_income"),
        "revenues:sales": ("revenue", "operating_revenues"),
        "Expenses:COGS": ("expense", "cost_of_goods_sold"),
        "expense:rent": ("expense", "operating_expenses"),
    }
    rows = "".join(f"{p},2025-01-02,x,{p},debit,1\n{p},2025-01-02,x,equity:other,credit,1\n" for p in types)
    import_books(store, instance_id, table(rows))
    ledgers = paths(store, instance_id)
    assert {path: (ledgers[path].type, ledgers[path].sub_type) for path in types} == types
    first = {"asset": "1", "liability": "2", "equity": "3", "revenue": "4", "expense": "5"}
    assert all(ledgers[path].sort_code[0] == first[kind] for path, (kind, _) in types.items())


def test_sort_codes_follow_the_paths(store, instance_id, table):
    names = [f"expenses:area:place {number:03d}" for number in range(30)]
    rows = "".join(
        f"e{name},2025-01-02,x,{name},debit,1\ne{name},2025-01-02,x,assets:bank,credit,1\n" for name in names
    )
    import_books(store, instance_id, table(rows))
    ordered = [path for path, ledger in paths(store, instance_id).items() if path.startswith("expenses")]
    assert ordered == ["expenses", "expenses:area", *names]
    deep = ":".join(["expenses", *"abcdefghijklmn"])
    import_books(store, instance_id, table(f"e,2025-01-02,x,{deep},debit,1\ne,2025-01-02,x,assets:bank,credit,1\n"))
    assert max(len(ledger.sort_code) for ledger in store.ledgers(instance_id)) <= 20
    assert deep in paths(store, instance_id)


def test_a_second_file_uses_the_ledgers_of_the_first(store, instance_id, table):
    import_books(store, instance_id, table(RENT), cash=["assets:bank"])
    before = paths(store, instance_id)
    more = "heat,2025-01-09,Heat,expenses:premises:heating,debit,9\nheat,2025-01-09,Heat,assets:bank,credit,9\n"
    summary = import_books(store, instance_id, table(more, name="more.csv"))
    after = paths(store, instance_id)
    assert summary.ledgers == 1
    assert summary.cash == ("assets:bank",)
    assert {path: ledger.id for path, ledger in after.items() if path in before} == {
        path: ledger.id for path, ledger in before.items()
    }
    assert after["expenses:premises:heating"].parent_id == before["expenses:premises"].id
    assert after["expenses:premises:heating"].sort_code > after["expenses:premises:rent"].sort_code
    assert len(rows_of(store, "transactions")) == 2


def test_only_new_entries_are_added(store, instance_id, table):
    import_books(store, instance_id, table(RENT))
    again = "new,2025-02-02,New,expenses:rent,debit,1\nnew,2025-02-02,New,assets:bank,credit,1\n" + RENT
    summary = import_books(store, instance_id, table(again))
    assert (summary.entries, summary.known, summary.missing) == (1, 1, ())
    assert len(rows_of(store, "journal_entries")) == 2
    summary = import_books(store, instance_id, table(again))
    assert (summary.entries, summary.known, summary.lines, summary.ledgers) == (0, 2, 0, 0)
    assert len(rows_of(store, "journal_entries")) == 2
    other = create_instance(store)
    assert import_books(store, other, table(RENT), time_zone="UTC").entries == 1


def ledger_ids(store, instance_id):
    return {path: ledger.id for path, ledger in paths(store, instance_id).items() if not ledger.is_required}


@pytest.mark.parametrize(
    ("sample", "cash"),
    [
        ("sample_lines.csv", ["assets:bank*", "liabilities:card"]),
        pytest.param("sample.journal", ["assets:bank*"], marks=pytest.mark.hledger),
    ],
)
def test_instances_have_no_id_in_common(store, tmp_path, sample, cash):
    with Store.open(tmp_path / "again.db") as again:
        for place, name in ((store, "first"), (store, "second"), (again, "first")):
            import_books(place, create_instance(place, NewInstance(id=name)), DATA / sample, cash=cash, time_zone="UTC")
        for name in ("ledgers", "journal_entries", "line_entries", "transactions", "tags", "tag_groups"):
            ids = [row["id"] for row in rows_of(store, name)]
            assert len(set(ids)) == len(ids)
        for name in ("journal_entries", "line_entries"):
            assert {row["id"] for row in rows_of(again, name)} < {row["id"] for row in rows_of(store, name)}
        assert ledger_ids(again, "first") == ledger_ids(store, "first")


def test_a_renamed_ledger_does_not_prevent_a_new_one(store, instance_id, table):
    import_books(store, instance_id, table(RENT))
    renamed = paths(store, instance_id)["expenses:premises:rent"].id
    with store.writing() as connection:
        connection.execute(update(tables.ledgers).where(tables.ledgers.c.id == renamed).values(name="Rents"))
    import_books(store, instance_id, table(RENT.replace("rent,2025", "rent2,2025"), name="more.csv"))
    assert paths(store, instance_id)["expenses:premises:Rents"].id == renamed
    assert paths(store, instance_id)["expenses:premises:rent"].id != renamed


def test_unpostable_entries_are_refused_by_line(store, instance_id, table):
    debit, credit = "a,2025-01-02,x,assets:bank,debit,1\n", "a,2025-01-02,x,expenses:rent,credit,1\n"
    for rows, message in (
        (debit + credit.replace("1\n", "2\n"), "line 2: .*does not balance"),
        (debit, "line 2: .*only one line"),
        ((debit + credit).replace("a,2025", "a/b,2025"), "line 2: entry id 'a/b'"),
        (RENT + debit.replace("assets:bank", "bank") + credit, "line 4: account 'bank' .*--root or roots= gives"),
        (RENT + debit.replace("assets:bank", "assets::b") + credit, "line 4: .*empty segment"),
    ):
        with pytest.raises(ImportRefusedError, match=rf"^lines.csv: nothing was imported: {message}"):
            import_books(store, instance_id, table(rows))
    assert len(store.ledgers(instance_id)) == 4
    assert rows_of(store, "journal_entries") == []


def test_errors_while_posting_change_nothing(store, instance_id, table):
    more = ",transaction_id"
    first = "a,2025-01-02,x,assets:bank,debit,1,t1\na,2025-01-02,x,equity:own,credit,1,\n"
    import_books(store, instance_id, table(first, more=more), cash=["assets:bank"])
    second = "b,2025-01-02,x,assets:bank,debit,1,t1\nb,2025-01-02,x,expenses:new,credit,1,\n"
    with pytest.raises(ImportRefusedError, match=r"nothing was imported: .*transaction id 't1-\w+'"):
        import_books(store, instance_id, table(second, more=more))
    assert "expenses:new" not in paths(store, instance_id)
    assert len(rows_of(store, "journal_entries")) == 1


@pytest.mark.parametrize(
    ("cash", "message"),
    [
        ("assets:cash", "'assets:cash' matches no account; the accounts are assets:bank, expenses:premises:rent"),
        ("*", "a cash pattern matches 'expenses:premises:rent': only assets and liabilities can be cash"),
        ("assets", "matches no account"),
    ],
)
def test_invalid_cash_patterns_are_refused(store, instance_id, table, cash, message):
    with pytest.raises(ImportRefusedError, match=message):
        import_books(store, instance_id, table(RENT), cash=[cash])


def test_transactions_outside_cash_accounts_are_refused(store, instance_id, table):
    for column, value in (("transaction_id", "t1"), ("personal", "false")):
        pairs = (
            f"e{n},2025-01-02,x,assets:bank,debit,1,{value}\ne{n},2025-01-02,x,equity:own,credit,1,\n" for n in "ab"
        )
        with pytest.raises(ImportRefusedError, match=r"line 2: account 'assets:bank' is .* its lines \(2\)") as refused:
            import_books(store, instance_id, table("".join(pairs), more=f",{column}"))
        assert str(refused.value).count("assets:bank") == 1


def test_an_existing_ledger_cannot_become_cash(store, instance_id, table):
    import_books(store, instance_id, table(RENT))
    more = table(RENT.replace("rent,2025", "rent2,2025"), name="more.csv")
    with pytest.raises(ImportRefusedError, match="line 3: ledger 'assets:bank' exists and does not report cash flow"):
        import_books(store, instance_id, more, cash=["assets:bank"])


def test_a_path_of_two_ledgers_is_ambiguous(store, instance_id, table):
    first = next(ledger for ledger in store.ledgers(instance_id) if ledger.name == "Transfers Between Accounts")
    import_books(store, instance_id, table(RENT))
    twin = create_ledger(store, instance_id, NewLedger(name=first.name, financial_account_type="bank_account"))
    rows = f"t,2025-01-02,x,{first.name},debit,1\nt,2025-01-02,x,assets:bank,credit,1\n"
    with pytest.raises(ImportRefusedError, match=r"could be any of the ledgers .*use the id"):
        import_books(store, instance_id, table(rows))
    assert import_books(store, instance_id, table(rows.replace(first.name, twin.id))).entries == 1


def test_invalid_files_are_refused_in_one_line(store, instance_id, tmp_path):
    path = tmp_path / "invalid.csv"
    for content, message in (
        (b"", "it is empty"),
        (b"date,counterparty,amount\n2025-01-01,x,1\n", "line 1: its columns .* are not those of a line table"),
        (f"{HEADER}\n".encode(), "no lines to import"),
        (f"{HEADER},amount\n{RENT}".encode(), "more than once: amount"),
        (f"{HEADER},tag\n{RENT}".encode(), "line 1: these columns are unknown: 'tag'"),
        (HEADER.replace(",amount", "").encode() + b"\n", "line 1: these columns are missing: amount"),
        (f"{HEADER}\n{RENT}".encode("utf-16"), "not UTF-8"),
        (f"{HEADER}\n".encode() + b'a,"b"c,d,e,f,g\n', "line 2: it is not valid CSV"),
        (f"{HEADER}\na,2025-01-01,x\n{RENT}".encode(), "line 2: has 3 fields, the header has 6"),
        (b"PAR1 but not really", "cannot be read as Parquet"),
    ):
        path.write_bytes(content)
        with pytest.raises(ImportRefusedError, match=message) as refused:
            import_books(store, instance_id, path)
        assert "\n" not in str(refused.value)
    with pytest.raises(ImportRefusedError, match=r"missing.csv: nothing was imported: it cannot be read"):
        import_books(store, instance_id, tmp_path / "missing.csv")
    with pytest.raises(InputError, match="no instance 'unknown'"):
        import_books(store, "unknown", DATA / "sample_lines.csv")


def test_the_first_problems_are_named_and_the_rest_counted(store, instance_id, table):
    rows = "".join(f"e{number},2025-01-02,x,assets:bank,debit,1.2{number}5\n" for number in range(8))
    with pytest.raises(ImportRefusedError) as refused:
        import_books(store, instance_id, table(rows))
    message = str(refused.value)
    assert "line 2: amount '1.205' does not fit 2 fraction digits" in message
    assert "line 6" in message
    assert "line 7" not in message
    assert message.endswith("and 3 more (--dry-run, or problems of the error, names each)")
    assert len(refused.value.problems) == 8


def test_the_scale_is_that_of_the_instance(store, table):
    rows = "a,2025-01-02,x,assets:bank,debit,1.205\na,2025-01-02,x,equity:own,credit,1.205\n"
    three, none = (create_instance(store, NewInstance(scale=scale, localtime="UTC")) for scale in (3, 0))
    assert import_books(store, three, table(rows)).entries == 1
    with pytest.raises(ImportRefusedError, match="does not fit 0 fraction digits"):
        import_books(store, none, table(rows.replace("1.205", "1.5")))


RETAINED = "Opening Balance Retained Earnings"
EQUITY = {
    "type": "equity",
    "sub_type": "equity",
    "debit_credit": "credit",
    "sort_code": "31",
    "report_cash_flow": False,
}
START = "start,2025-01-01,Start,assets:bank,debit,100\nstart,2025-01-01,Start,{0},credit,100\n"


def ledgers_of_entry(store, instance_id):
    """Names of the ledgers of all line entries."""
    names = {ledger.pk: ledger.name for ledger in store.ledgers(instance_id)}
    return {names[row["ledger_pk"]] for row in rows_of(store, "line_entries")}


@pytest.mark.parametrize(
    ("account", "patterns"), [("equity:opening balances", None), ("Equity:Start:2025", ["equity:start*"])]
)
def test_opening_balances_are_on_the_required_ledger(store, instance_id, table, account, patterns):
    options = {"cash": ["assets:bank"], "opening_ledgers": patterns}
    summary = import_books(store, instance_id, table(START.format(account)), **options)
    assert f"entries of {account} are opening balances, no inflow: they are on the ledger {RETAINED}" in summary.notes
    assert ledgers_of_entry(store, instance_id) == {"bank", RETAINED}
    assert not any(path.lower().startswith("equity") for path in paths(store, instance_id))
    assert [one.account for one in summary.accounts if one.type == "equity"] == [RETAINED]
    more = START.format(account) + RENT
    again = import_books(store, instance_id, table(more, name="more.csv"), **options)
    assert (again.known, again.entries, again.missing) == (1, 1, ())


def test_a_ledger_that_exists_is_not_replaced(store, instance_id, table):
    parent = create_ledger(store, instance_id, NewLedger(name="equity", **EQUITY))
    create_ledger(store, instance_id, NewLedger(name="opening", parent_id=parent.id, **EQUITY))
    rows = table(START.format("equity:opening"))
    assert import_books(store, instance_id, rows, cash=["assets:bank"]).entries == 1
    assert ledgers_of_entry(store, instance_id) == {"bank", "opening"}
    with pytest.raises(BooksDoNotTieError, match=f"-100.00 on {RETAINED} instead of -100.00 on equity:opening"):
        import_books(store, instance_id, rows, cash=["assets:bank"], opening_ledgers=["equity:opening"])


def test_only_equity_has_opening_balances(store, instance_id, table):
    for pattern, message in (
        ("income:*", "an opening pattern matches 'income:sales': only accounts of equity have opening balances"),
        ("equity:start", "opening pattern 'equity:start' matches no account; the accounts are assets:bank"),
    ):
        rows = table(START.format("income:sales"))
        with pytest.raises(ImportRefusedError, match=message):
            import_books(store, instance_id, rows, cash=["assets:bank"], opening_ledgers=[pattern])
