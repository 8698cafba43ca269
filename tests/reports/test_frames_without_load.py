"""Frames that lost what their load states, after merges and other engines: no other days, no part of an entry."""

import datetime as dt
import io
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError

MAY = ("2026-05-01", "2026-05-31")
NET_INCOME = Decimal("7855.83")
"""Of May, in days of New York; in days of UTC it is 7,355.01."""
STATEMENTS = [aa.income_statement, aa.cash_flow_statement, aa.balance_sheet, aa.trial_balance]


@pytest.fixture(scope="module")
def ledgers(demo_company):
    """Return the chart of accounts, which states the zone of its discovery."""
    return aa.discover_ledgers(demo_company.client, "2026-04-01", "2026-05-31")


@pytest.fixture(scope="module")
def two_months_of_lines(demo_company, ledgers):
    return aa.load_line_entries(demo_company.client, ledgers["id"], "2026-04-01", "2026-05-31")


def joined(lines, ledgers):
    """Join with an index, as analysts add a column of the ledgers."""
    return lines.join(ledgers.set_index("id")["type"].rename("ledger_type"), on="ledger_id")


def without_statement(frame):
    """Return a frame whose ``attrs`` are lost."""
    changed = frame.copy()
    changed.attrs = {}
    return changed


def from_text(lines):
    """Write CSV, and read it as a file of line entries."""
    return aa.read_line_entries(io.BytesIO(lines.to_csv(index=False).encode()))


CHANGES = {
    "merge": lambda lines, ledgers: lines.merge(ledgers[["id", "type"]], left_on="ledger_id", right_on="id").rename(
        columns={"id_x": "id"}
    ),
    "join": joined,
    "concat": lambda lines, _: without_statement(pd.concat([lines.iloc[:100], lines.iloc[100:]])),
    "Arrow": lambda lines, _: pa.Table.from_pandas(without_statement(lines)),
    "polars": lambda lines, _: pl.from_pandas(lines),
    "polars and back": lambda lines, _: pl.from_pandas(lines).to_pandas(),
    "lazy polars": lambda lines, _: pl.from_pandas(lines).lazy(),
    "DuckDB": lambda lines, _: duckdb.from_arrow(pa.Table.from_pandas(without_statement(lines))),
    "texts of days": lambda lines, _: without_statement(lines).astype({"local_date": "str"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_days_stay_what_they_are(two_months_of_lines, ledgers, change):
    changed = CHANGES[change](two_months_of_lines, ledgers)
    found = aa.income_statement(aa.Books(changed, ledgers), MAY)["Net income"]
    assert found.exact() == NET_INCOME
    assert any(
        "No time zone was given; every local_date is" in note
        for note in aa.income_statement(aa.Books(changed, ledgers), MAY).notes
    )
    with pytest.raises(InputError, match=r"neither the line entries nor the ledgers state a time zone; name the zone"):
        aa.income_statement(aa.Books(changed, without_statement(ledgers)), MAY)
    named = aa.income_statement(aa.Books(changed, without_statement(ledgers), time_zone="America/New_York"), MAY)
    assert named["Net income"].exact() == NET_INCOME


@pytest.mark.parametrize("change", CHANGES)
def test_a_zone_of_the_ledgers_that_gives_other_days_is_refused(demo_company, two_months_of_lines, ledgers, change):
    elsewhere = aa.discover_ledgers(demo_company.client, "2026-04-01", "2026-05-31", time_zone="UTC")
    changed = CHANGES[change](two_months_of_lines, ledgers)
    with pytest.raises(
        InputError, match=r"that of the ledgers, UTC, is another: local_date of the line entry of .* is 2026-0"
    ):
        aa.income_statement(aa.Books(changed, elsewhere), MAY)


@pytest.mark.parametrize("make", [*STATEMENTS, aa.recompute_cash_flow])
def test_a_frame_without_days_and_zone_is_refused(two_months_of_lines, ledgers, make):
    bare = without_statement(two_months_of_lines.drop(columns="local_date"))
    with pytest.raises(
        InputError, match="state no time zone and have no local_date; name the zone that days are counted"
    ):
        make(aa.Books(bare, ledgers), MAY)
    assert make(aa.Books(bare, ledgers, time_zone="America/New_York"), MAY)


@pytest.mark.parametrize(
    "call",
    [
        lambda books: aa.register(books, "Operating Account", "2026-05"),
        aa.recurring_payments,
        aa.ageing,
        aa.outlook,
        aa.analysis_frame,
    ],
    ids=["register", "recurring_payments", "ageing", "outlook", "analysis_frame"],
)
def test_no_function_assumes_a_zone(two_months_of_lines, ledgers, call):
    with pytest.raises(InputError, match="name the zone that days are counted in"):
        call(aa.Books(without_statement(two_months_of_lines.drop(columns="local_date")), ledgers))


def test_local_dates_are_never_replaced(two_months_of_lines, ledgers, tmp_path):
    merged = CHANGES["merge"](two_months_of_lines, ledgers)[list(two_months_of_lines.columns)]
    assert (aa.analysis_frame(aa.Books(merged, ledgers))["local_date"] == merged["local_date"]).all()
    with pytest.raises(InputError, match="or drop the column local_date to count other days"):
        aa.analysis_frame(aa.Books(merged, ledgers, time_zone="UTC"))
    path = tmp_path / "lines.csv"
    two_months_of_lines.to_csv(path, index=False)
    assert (
        aa.read_line_entries(path, time_zone="America/New_York")["local_date"] == two_months_of_lines["local_date"]
    ).all()
    with pytest.raises(InputError, match="or drop the column local_date to count other days"):
        aa.read_line_entries(path, time_zone="UTC")
    back = aa.read_line_entries(path)
    assert aa.income_statement(aa.Books(back, ledgers), MAY)["Net income"].exact() == NET_INCOME


INSTANTS = st.dates(dt.date(2005, 1, 1), dt.date(2026, 12, 31)).flatmap(
    lambda day: st.times().map(lambda time: dt.datetime.combine(day, time))
)


@given(
    zones=st.lists(
        st.sampled_from(["UTC", "America/St_Johns", "Asia/Tokyo", "America/Sao_Paulo", "Pacific/Apia"]),
        min_size=2,
        max_size=2,
    ),
    instants=st.lists(INSTANTS, min_size=1, max_size=12),
)
def test_a_zone_is_taken_only_if_it_gives_every_day(zones, instants):
    of_days, of_ledgers = zones
    instant = pd.Series(pd.to_datetime(instants)).astype("datetime64[us]").dt.tz_localize("UTC")
    days = instant.dt.tz_convert(of_days).dt.tz_localize(None).dt.normalize().astype("datetime64[us]")
    others = instant.dt.tz_convert(of_ledgers).dt.tz_localize(None).dt.normalize()
    count = len(instant)
    frame = pd.DataFrame(
        {
            "id": [f"l{number}" for number in range(2 * count)],
            "ledger_id": ["bank", "sales"] * count,
            "journal_entry_id": [f"e{number // 2}" for number in range(2 * count)],
            "journal_entry_description": "sale",
            "datetime": instant.repeat(2).to_numpy(),
            "local_date": days.repeat(2).to_numpy(),
            "signed_amount": [1.0, -1.0] * count,
        }
    )
    frame["datetime"] = pd.Series(instant.repeat(2).to_numpy()).astype("datetime64[us, UTC]")
    chart = pd.DataFrame(
        {
            "id": ["bank", "sales"],
            "name": ["Bank", "Sales"],
            "report_cash_flow": [True, False],
            "parent_id": [None, None],
            "sort_code": ["1", "4"],
        }
    ).astype({"parent_id": "str"})
    chart.attrs["discovery"] = {"ledgers": 2, "first_day": None, "accepted": ["0001-01-01", "9999-12-31", of_ledgers]}
    if (days == others).all():
        assert (
            aa.recompute_cash_flow(aa.Books(frame, chart), ("2000-01-01", "2030-01-01")).period.time_zone == of_ledgers
        )
    else:
        with pytest.raises(InputError, match="is another: local_date of the line entry"):
            aa.recompute_cash_flow(aa.Books(frame, chart), ("2000-01-01", "2030-01-01"))


@pytest.mark.parametrize("make", [*STATEMENTS, aa.recompute_cash_flow])
@pytest.mark.parametrize("change", ["merge", "Arrow", "lazy polars"])
def test_part_of_an_entry_is_refused(two_months_of_lines, ledgers, make, change):
    part = CHANGES[change](
        without_statement(two_months_of_lines[two_months_of_lines["ledger_name"] != "Rent"]), ledgers
    )
    with pytest.raises(IncompleteLoadError, match=r"journal entr.* not balance .*so lines are missing"):
        make(aa.Books(part, ledgers), MAY)


def test_a_load_of_revenues_and_expenses_suffices(demo_company, ledgers):
    earning = ledgers.loc[
        ledgers["type"].isin(["revenue", "expense"]) | (ledgers["sub_type"] == "uncategorized_assets")
    ]
    lines = aa.load_line_entries(demo_company.client, earning["id"], *MAY)
    assert aa.income_statement(aa.Books(lines, ledgers), MAY)["Net income"].exact() == NET_INCOME


def turned(lines):
    """Return lines with an entry whose amounts have the other sign, so that it still balances."""
    rent = lines.loc[lines["ledger_name"] == "Rent", "journal_entry_id"].iloc[-1]
    changed = without_statement(lines)
    changed.loc[changed["journal_entry_id"] == rent, "signed_amount"] *= -1
    return changed


@pytest.mark.parametrize("make", [*STATEMENTS, aa.recompute_cash_flow])
@pytest.mark.parametrize("change", ["merge", "Arrow", "lazy polars", "DuckDB"])
def test_amounts_on_the_other_side_are_refused(two_months_of_lines, ledgers, make, change):
    with pytest.raises(FrameError, match=r"signed_amount is not \+amount on the debit side.*: id ent_"):
        make(aa.Books(CHANGES[change](turned(two_months_of_lines), ledgers), ledgers), MAY)


@pytest.mark.parametrize("make", [aa.ageing, aa.recurring_payments, aa.outlook, aa.analysis_frame])
def test_no_function_takes_amounts_on_the_other_side(two_months_of_lines, ledgers, make):
    with pytest.raises(FrameError, match=r"signed_amount is (not )?\+amount on the debit side"):
        make(aa.Books(turned(two_months_of_lines), ledgers))
