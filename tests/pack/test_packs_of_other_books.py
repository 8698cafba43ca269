"""Packs of random and of local books: each amount on the page follows from its entries; what changed since the last."""

import datetime as dt
import json
import random

import hypothesis
import pandas as pd
import pytest
from books_strategy import FIRST_DAY, OPENING, books, ledger_frame, line_table
from hypothesis import strategies as st
from naive_statements import NaiveBooks, NaiveLedger, NaiveLine
from recorded_figures import read_checked

import accounting_analytics as aa


@hypothesis.settings(hypothesis.settings.get_profile("slow"), phases=[hypothesis.Phase.generate])
@hypothesis.given(
    naive=books(),
    month=st.dates(dt.date(2024, 2, 1), dt.date(2025, 6, 1)),
    first_month=st.sampled_from([1, 4]),
)
def test_every_amount_follows_from_its_entries(pack_of_lines, tmp_path_factory, naive, month, first_month):
    period = aa.Period(pd.Period(f"{month:%Y-%m}"), pd.Period(f"{month:%Y-%m}"), naive.zone)
    lines = line_table(naive).to_pandas().astype({"datetime": "datetime64[us, UTC]"})
    first = min([FIRST_DAY, *lines["datetime"].dt.tz_convert(naive.zone).dt.date])  # a day earlier in some zones
    pack = pack_of_lines(lines, ledger_frame(naive), period, first, first_month=first_month)
    read_checked(pack.html)
    found = aa.verify_pack(pack.save(tmp_path_factory.mktemp("pack") / "pack.html"))
    assert found.verified, found.explain()
    assert not pack.proven  # no report of the service was compared


def test_a_pack_of_a_month_before_the_first_line(pack_of_lines):
    instant = dt.datetime(2024, 5, 30, 12, tzinfo=dt.UTC)
    bank = NaiveLedger("bank", "Bank", "asset", "cash_and_cash_equivalents", is_cash=True)
    lines = [NaiveLine("a", "bank", "entry", instant, 100), NaiveLine("b", "opening", "entry", instant, -100)]
    naive = NaiveBooks([bank, OPENING], lines, "UTC")
    frame = line_table(naive).to_pandas().astype({"datetime": "datetime64[us, UTC]"})
    pack = pack_of_lines(frame, ledger_frame(naive), aa.Period.parse("2024-03"), dt.date(2024, 1, 1))
    assert "flows" not in pack.content.pictures


@pytest.mark.long
def test_page_of_ten_thousand_entries_is_below_1_5_mb(demo_company, pack_of_lines):
    chosen = random.Random(1)  # noqa: S311 (no secret)
    ledgers = aa.discover_ledgers(demo_company.client, "2025-01-01", "2026-05-31", progress=False)
    categories = ["led_rent", "led_wages", "led_cafe_sales", "led_marketing"]
    rows = []
    for number in range(10_000):
        day = pd.Timestamp("2025-01-02", tz="UTC") + pd.Timedelta(hours=chosen.randrange(510 * 24))
        units = chosen.randrange(1, 10**7)
        for side, ledger in ((1, chosen.choice(categories)), (-1, "led_operating")):
            rows.append((f"line {number} {side}", ledger, f"entry {number}", day, side * units / 100, number))
    columns = ["id", "ledger_id", "journal_entry_id", "datetime", "signed_amount", "number"]
    lines = pd.DataFrame(rows, columns=columns).astype({"datetime": "datetime64[us, UTC]"})
    merchants = [f"MERCHANT {chosen.randrange(300)} REF {number:06}" for number in range(10_000)]
    lines["journal_entry_description"] = lines.pop("number").map(dict(enumerate(merchants)))
    may = aa.Period.parse("2026-05", time_zone=demo_company.time_zone)
    pack = pack_of_lines(lines, ledgers, may, dt.date(2025, 1, 1))
    assert pack.content.entries.line_count > 19_000
    assert len(pack.html.encode()) < 1_500_000
    assert len(json.loads(pack.to_json())["figures"]) > 200


@pytest.fixture(scope="module")
def changed_books(tmp_path_factory):
    """Return local books in which an entry of February got a category after February was closed."""
    folder = tmp_path_factory.mktemp("books")
    with aa.demo() as company:
        books = aa.LocalBooks.open(folder)
        books.sync(company.client, start_date="2025-01-01", end_date="2025-03-31", progress=False)
        february = aa.Period("2025-02-01", "2025-02-28", company.time_zone)
        books.close(february)
        loaded = aa.Books(books.line_entries(february), books.ledgers())
        queue = aa.uncategorized_queue(loaded)
        transaction = queue.loc[0, "transaction_id"]
        proposals = aa.decide(queue.head(1), {transaction: "Travel"}, loaded)
        plan = aa.plan_recategorization(proposals, loaded)
        aa.apply_plan(company.client, plan, journal=folder / "run.journal", confirm=True)
        books.sync(company.client, end_date="2025-03-31", progress=False)
    return books


def test_local_books_are_proven_by_their_sync(changed_books):
    pack = aa.monthly_pack(aa.load_books(changed_books, "2025-03"))
    assert pack.proven, pack.reasons
    assert pack.books_version == changed_books.version
    assert [one.label for one in pack.compared.values()] == ["Mar 2025", "Feb 2025", "2025 to date"]
    read_checked(pack.html)


@pytest.mark.long
def test_what_changed_since_the_last_close_or_a_version(changed_books):
    march = aa.load_books(changed_books, "2025-03")
    closed = changed_books.closed()["version"].max()
    since_close = aa.monthly_pack(march, drift=changed_books.drift(closed))
    table = since_close.content.tables["changes"].table
    kinds = {(row.label, row.cells[0].text, row.cells[1].text) for row in table.rows}
    assert ("Travel", "2025-02", "recategorized") in kinds
    figures = since_close.figures.query("table == 'changes'")
    for row in figures.itertuples():
        figure = since_close[f"changes:{row.key}"]
        assert round(figure.entries["figure_amount"].sum(), 2) == float(row.amount) != 0
    assert 'id="changes"' in since_close.html
    nothing = aa.monthly_pack(march, drift=changed_books.drift(changed_books.version))
    assert nothing.content.tables["changes"].table.rows == []
    assert "No line changed between" in nothing.html
