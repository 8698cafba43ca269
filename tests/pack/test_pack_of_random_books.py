"""Packs of random books: whatever is in them, each amount on the page follows from its entries."""

import datetime as dt
import json
import random

import hypothesis
import pandas as pd
import pytest
from books_strategy import FIRST_DAY, books, ledger_frame, line_table
from hypothesis import strategies as st
from recorded_figures import PageReader, RecordedSums, units_of

import accounting_analytics as aa
from accounting_analytics.client.settings import Presentation
from accounting_analytics.pack.loaded_books import LoadedBooks
from accounting_analytics.pack.monthly_pack import PageOptions, pack_of_books
from accounting_analytics.pack.pack_periods import PackPeriods


def pack_of(naive, period, first_month, *, books_start=FIRST_DAY):
    """Return the pack of random books."""
    lines = line_table(naive).to_pandas().astype({"datetime": "datetime64[us, UTC]"})
    lines["debit_credit"] = ["debit" if amount >= 0 else "credit" for amount in lines["signed_amount"]]
    lines["amount"] = lines["signed_amount"].abs()
    texts = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "debit_credit"]
    lines = lines.astype(dict.fromkeys(texts, "str"))
    names = {one.id: one.name for one in naive.ledgers.values()}
    lines["ledger_name"] = lines["ledger_id"].map(names)
    certificate = aa.check_completeness(lines)
    days = aa.Period(FIRST_DAY, period.end_date, naive.zone)
    loaded = LoadedBooks(ledger_frame(naive), lines, days, books_start, None, certificate, {}, (), {})
    return pack_of_books(loaded, PackPeriods.around(period, first_month), Presentation("Company"), PageOptions())


@hypothesis.settings(hypothesis.settings.get_profile("slow"), phases=[hypothesis.Phase.generate])
@hypothesis.given(
    naive=books(),
    month=st.dates(dt.date(2024, 2, 1), dt.date(2025, 6, 1)),
    first_month=st.sampled_from([1, 4]),
)
def test_every_amount_follows_from_its_entries(tmp_path_factory, naive, month, first_month):
    """Trees of ledgers, unknown sub_types, huge amounts, instants near midnight of any zone."""
    period = aa.Period(pd.Period(f"{month:%Y-%m}"), pd.Period(f"{month:%Y-%m}"), naive.zone)
    pack = pack_of(naive, period, first_month)
    page = PageReader(pack.html)
    sums = RecordedSums(page.data)
    for figure in page.figures:
        units = sums.units(figure.table, figure.key)
        assert units_of(figure.text) == (abs(units) if figure.is_size else units), figure
    found = aa.verify_pack(pack.save(tmp_path_factory.mktemp("pack") / "pack.html"))
    assert found.verified, found.explain()
    assert not pack.proven  # no report of the service was compared


@pytest.mark.long
def test_ten_thousand_entries_are_small(demo_company):
    """A page with 10,000 journal entries of two lines has less than 1.5 MB."""
    periods = PackPeriods.around(aa.Period.parse("2026-05", time_zone=demo_company.time_zone), 1)
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
    lines["debit_credit"] = ["debit" if amount > 0 else "credit" for amount in lines["signed_amount"]]
    lines = lines.assign(amount=lines["signed_amount"].abs(), ledger_name=lines["ledger_id"])
    days = aa.Period("2025-01-01", "2026-05-31", demo_company.time_zone)
    certificate = aa.check_completeness(lines)
    loaded = LoadedBooks(ledgers, lines, days, days.start_date, None, certificate, {}, (), {})
    pack = pack_of_books(loaded, periods, Presentation("Company"), PageOptions())
    assert pack.content.entries.line_count > 19_000
    assert len(pack.html.encode()) < 1_500_000
    assert len(json.loads(pack.to_json())["figures"]) > 200
