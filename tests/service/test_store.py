"""The store: its file, tokens, amounts as stored, and what the database guarantees."""

import datetime as dt
import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Column, MetaData, Table, create_engine, func, select, update
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from accounting_analytics.core.errors import (
    AmountError,
    ConfigurationError,
    InputError,
    OperationRefusedError,
    PostingRefusedError,
)
from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, to_units
from accounting_analytics.service import tables
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import NewInstance, create_instance, issue_token
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.stored_values import SUMMED_APART, join_sums, number_text
from accounting_analytics.service.tables import VERSION


@pytest.fixture
def store(path):
    """Return an open store with one instance, two ledgers and one entry."""
    with Store.open(path) as store:
        instance = create_instance(store, NewInstance(id="books"))
        create_ledger(store, instance, NewLedger(name="Bank", financial_account_type="bank_account", id="bank"))
        rent = NewLedger(
            name="Rent",
            type="expense",
            sub_type="operating_expenses",
            debit_credit="debit",
            report_cash_flow=False,
            sort_code="5",
            id="rent",
        )
        create_ledger(store, instance, rent)
        lines = (NewLine("bank", -500), NewLine("rent", 500))
        post_entries(store, instance, [NewJournalEntry(dt.datetime(2025, 1, 1, tzinfo=dt.UTC), "rent", lines)])
        yield store


def test_the_file_is_private_and_durable(store, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with store.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2}


def test_other_files_are_refused_and_not_changed(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one " * 100)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    for file in (text, other):
        before = file.read_bytes()
        with pytest.raises(InputError, match=f"{file.name} .*nothing was changed, give another"):
            Store.open(file)
        assert file.read_bytes() == before
    for wrong in (tmp_path, tmp_path / "missing" / "books.db"):
        with pytest.raises(ConfigurationError, match="cannot be opened"):
            Store.open(wrong)


def test_a_change_of_the_tables_raises_the_version():
    statements = [str(CreateTable(table).compile(dialect=sqlite_dialect())) for table in tables.metadata.sorted_tables]
    digest = hashlib.sha256("".join(statements).encode()).hexdigest()[:12]
    assert (VERSION, digest) == (9, "f775816e8b29"), "raise VERSION of service/tables.py, and write both here"


def test_another_version_is_refused(database):
    with Store.open(database) as store, store.writing() as connection:
        is_version = tables.settings.c.name == "schema_version"
        connection.execute(update(tables.settings).where(is_version).values(value=str(VERSION + 1).encode()))
    with pytest.raises(InputError, match=r"books.* was written by another version.*import the books again"):
        Store.open(database)


OPEN = """
import sys
from accounting_analytics.core.errors import InputError
from accounting_analytics.service.database import Store
for path in sys.argv[1:]:
    try:
        Store.open(path)
    except InputError as error:
        print(error)
"""
# the permissions of files do not limit root, unless it gives up its capabilities
AS_OWNER = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []


@pytest.mark.skipif(bool(AS_OWNER) and shutil.which("setpriv") is None, reason="root without setpriv")
def test_missing_permissions_are_named(tmp_path):
    fixed, unreadable = tmp_path / "fixed" / "books.db", tmp_path / "books.db"
    fixed.parent.mkdir()
    for path in (fixed, unreadable):
        Store.open(path).close()
    fixed.parent.chmod(0o555)
    unreadable.chmod(0o000)
    command = [*AS_OWNER, sys.executable, "-c", OPEN, fixed, unreadable]
    opened = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=True)  # noqa: S603 (our own)
    fixed.parent.chmod(0o755)
    assert opened.stdout.splitlines() == [
        f"database {fixed} cannot be opened: files beside it cannot be created in {fixed.parent}: permission denied",
        f"database {unreadable} cannot be opened: Permission denied",
    ]


def test_an_unknown_instance_is_named(store):
    for call in (Store.ledgers, issue_token):
        with pytest.raises(InputError, match="no instance 'nothing'"):
            call(store, "nothing")


def test_tokens_are_stored_hashed(store, path):
    tokens = [issue_token(store, "books") for _ in range(3)]
    assert len(set(tokens)) == 3
    stored = path.read_bytes() + path.with_name("books.db-wal").read_bytes()
    for token in tokens:
        secret = token.partition(".")[2]
        assert secret.encode() not in stored
        assert hashlib.sha256(secret.encode()).digest() in stored


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE line_entries SET units = -units WHERE debit_credit = 'debit'",
        "UPDATE line_entries SET units = 1000000000000000000 WHERE debit_credit = 'debit'",
        "UPDATE line_entries SET ledger_pk = 99",
        "UPDATE line_entries SET journal_entry_pk = 99",
        "INSERT INTO tag_groups (pk, instance_pk, id, name) VALUES (1, 1, 'a', 'x'), (2, 1, 'a', 'y')",
        "DELETE FROM ledgers",
    ],
)
def test_constraints_are_those_of_the_database(store, change):
    with pytest.raises(IntegrityError, match="constraint failed"), store.writing() as connection:
        connection.exec_driver_sql(change)


def test_readers_see_one_snapshot_while_a_writer_commits(store):
    count = "SELECT count(*) FROM journal_entries"
    with store.reading() as reader:
        assert reader.exec_driver_sql(count).scalar() == 1
        lines = (NewLine("bank", -500), NewLine("rent", 500))
        post_entries(store, "books", [NewJournalEntry(dt.datetime(2025, 1, 2, tzinfo=dt.UTC), "rent", lines)])
        assert reader.exec_driver_sql(count).scalar() == 1
    with store.reading() as reader:
        assert reader.exec_driver_sql(count).scalar() == 2


def test_a_failed_write_is_rolled_back(store):
    with pytest.raises(IntegrityError), store.writing() as connection:  # noqa: PT012 (both statements are one write)
        connection.exec_driver_sql("UPDATE ledgers SET name = 'x'")
        connection.exec_driver_sql("DELETE FROM instances")
    assert "x" not in {ledger.name for ledger in store.ledgers("books")}
    create_ledger(store, "books", NewLedger(name="Card", financial_account_type="credit_card"))


def test_a_writer_that_waits_too_long_is_refused(database):
    with Store.open(database, lock_seconds=0.2) as store, Store.open(database, lock_seconds=0.2) as other:
        instance = create_instance(store)
        for busy in (store, other):
            with busy.writing(), ThreadPoolExecutor(1) as pool:
                with pytest.raises(OperationRefusedError, match="the books are busy") as refused:
                    pool.submit(create_instance, store).result()
                assert refused.value.status == 503
                assert [one.id for one in store.instances()] == [instance]
        create_instance(store)
        assert len(other.instances()) == 2


def test_a_new_database_that_another_program_locks_is_busy(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationRefusedError, match="the books are busy"), Store.open(path, lock_seconds=0.1):
            pass


def test_too_many_connections_are_busy(path):
    Store.open(path).close()
    url = f"sqlite+pysqlite:///{path}"
    engine = create_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.05)
    with Store(engine, lock_seconds=1, path=path) as store, store.reading():
        with pytest.raises(OperationRefusedError, match="the books are busy") as refused:
            store.instances()
        assert refused.value.status == 503


def test_text_that_a_database_cannot_store_is_refused(store):
    for write in (
        lambda: create_instance(store, NewInstance(name="a\0b")),
        lambda: create_instance(store, NewInstance(name="\udcff")),
        lambda: create_ledger(store, "books", NewLedger(name="a\0b", financial_account_type="loan")),
        lambda: post_tag(store, "x" * 501),
        lambda: post_tag(store, "\ud800"),
    ):
        with pytest.raises(PostingRefusedError):
            write()
    assert len(store.ledgers("books")) == 6


def post_tag(store, name):
    tagged = NewLine("bank", 100, tags=(NewTag("group", name),))
    lines = (tagged, NewLine("rent", -100))
    post_entries(store, "books", [NewJournalEntry(dt.datetime(2025, 1, 1, tzinfo=dt.UTC), "entry", lines)])


def test_the_last_instant_of_the_calendar_has_its_day(make_books):
    books = make_books()
    bank, rent = books.bank(), books.category()
    last = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)
    with pytest.raises(PostingRefusedError, match="end of the calendar"):
        books.post(last, (bank, -1), (rent, 1))
    books.post(last - dt.timedelta(microseconds=1), (bank, -1), (rent, 1))
    assert len(books.lines(bank, "9999-12-28", "9999-12-28")["records"]) == 1
    assert books.report("9999-12-29", "9999-12-31")["starting_cash_balance"] == -1


def test_a_missing_file_is_not_created_for_reading(tmp_path):
    with pytest.raises(InputError, match=r"none\.db does not exist"):
        Store.open(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []


UNITS = st.integers(-(10**18) + 1, 10**18 - 1)


@given(st.lists(UNITS, max_size=30))
def test_sums_of_parts_join_to_the_sum(amounts):
    table = Table("units", MetaData(), Column("units", BigInteger))
    parts = func.sum(table.c.units // SUMMED_APART), func.sum(table.c.units % SUMMED_APART)
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        if amounts:
            connection.execute(table.insert(), [{"units": units} for units in amounts])
        assert join_sums(*connection.execute(select(*parts)).one()) == sum(amounts)
    engine.dispose()


@given(UNITS, st.integers(0, 10))
def test_number_text_is_the_exact_decimal(units, scale):
    text = number_text(units, scale)
    assert Decimal(text) == Decimal(units).scaleb(-scale)
    assert "E" not in text.upper()
    assert len(text.partition(".")[2]) == scale
    assert text != "-0"


@pytest.mark.parametrize(("amount", "scale"), [("9999999999999999.99", 2), ("99999999.9999999999", 10), ("0", 0)])
def test_largest_amounts_are_kept(amount, scale):
    assert Decimal(number_text(to_units(Decimal(amount), scale), scale)) == Decimal(amount)


@pytest.mark.parametrize(
    ("amount", "scale", "message"),
    [
        ("12.345", 2, "12.345 does not fit 2 fraction digits"),
        ("10000000000000000", 2, "the books keep 16"),
        ("100000000", 10, "the books keep 8"),
        ("1E+999999", 2, "too large"),
        ("NaN", 2, "not a finite amount"),
        ("-Infinity", 2, "not a finite amount"),
    ],
)
def test_what_does_not_fit_is_refused(amount, scale, message):
    with pytest.raises(AmountError, match=message):
        to_units(Decimal(amount), scale)
