"""A month whose figures or lines differ in anything is never taken as proven."""

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.loading.load import load_line_table
from accounting_analytics.local_books.month_against_report import compare_month, find_incompleteness

ZONE = "America/New_York"
MARCH = aa.Period("2026-03-01", "2026-03-31", ZONE)


@pytest.fixture(scope="module")
def ledgers(demo_company):
    return aa.discover_ledgers(demo_company.client, "2025-01-01", MARCH.end_date, time_zone=ZONE)


@pytest.fixture(scope="module")
def march_lines(demo_company, ledgers):
    return load_line_table(demo_company.client, dict.fromkeys(ledgers["id"], MARCH)).lines


@pytest.fixture(scope="module")
def reported(demo_company):
    return aa.load_cash_flow_report(demo_company.client, MARCH.start_date, MARCH.end_date, time_zone=ZONE)


def change_value(value):
    """Return another value of the same kind."""
    if isinstance(value, str):
        return value + "x"
    return value + (pd.Timedelta("1s") if isinstance(value, pd.Timestamp) else 0.01)


def problem_of(reported, lines, ledgers, starting_balances):
    """Return why a month is not proven."""
    return compare_month(reported, lines, ledgers, starting_balances, scale=2).problem


TABLES = {
    "ledgers": ("ledger_id", "net_cash_flow", "total_net_cash_flow"),
    "lines": ("line_id", "ledger_id", "amount", "datetime", "journal_entry_id"),
    "starting_balances": ("ledger_id", "cash_balance", "total_cash_balance"),
    "ending_balances": ("ledger_id", "cash_balance", "total_cash_balance"),
}


def test_month_that_agrees_ties_with_complete_entries(reported, march_lines, ledgers):
    for agreeing in (reported, altered(reported, lines=reported.lines.iloc[::-1].reset_index(drop=True))):
        assert problem_of(agreeing, march_lines, ledgers, reported.starting_balances) == ""
    assert find_incompleteness(march_lines, MARCH, 2) == ("", [])


@settings.get_profile("slow")
@given(data=st.data())
def test_any_other_value_in_the_report_is_found(reported, march_lines, ledgers, data):
    name = data.draw(st.sampled_from(sorted(TABLES)))
    table, column = getattr(reported, name).copy(), data.draw(st.sampled_from(TABLES[name]))
    row = data.draw(st.integers(0, len(table) - 1))
    if data.draw(st.booleans()):
        table.loc[row, column] = change_value(table.loc[row, column])
        table[column] = table[column].round(2) if table[column].dtype == float else table[column]
        assert problem_of(altered(reported, **{name: table}), march_lines, ledgers, reported.starting_balances)
    elif name == "lines":
        fewer = altered(reported, lines=table.drop(index=row).reset_index(drop=True))
        assert problem_of(fewer, march_lines, ledgers, reported.starting_balances)


@pytest.mark.parametrize("name", ["ledgers", "starting_balances", "ending_balances"])
def test_another_ledger_in_any_row_is_found(reported, march_lines, ledgers, name):
    table = getattr(reported, name)
    amount = table["net_cash_flow" if name == "ledgers" else "cash_balance"]
    for row in {*table.index[::6], *table.index[amount == 0][:1]}:
        other = table.assign(ledger_id=table["ledger_id"].where(table.index != row, table["ledger_id"] + "x"))
        assert problem_of(altered(reported, **{name: other}), march_lines, ledgers, reported.starting_balances), (
            name,
            row,
        )


@pytest.mark.parametrize("name", ["starting_cash_balance", "ending_cash_balance"])
def test_another_cash_balance_is_found(reported, march_lines, ledgers, name):
    other = altered(reported, **{name: round(getattr(reported, name) + 0.01, 2)})
    assert problem_of(other, march_lines, ledgers, reported.starting_balances)


@pytest.mark.parametrize("named", ["", None])
def test_entries_that_name_no_line_are_complete(march_lines, named):
    column = march_lines.column_names.index("journal_entry_line_entry_ids")
    unnamed = pa.array([named] * len(march_lines), pa.string())
    assert find_incompleteness(march_lines.set_column(column, "journal_entry_line_entry_ids", unnamed), MARCH, 2) == (
        "",
        [],
    )


def set_value(lines, row, name, value):
    values = lines[name].to_pylist()
    values[row] = value
    return lines.set_column(lines.column_names.index(name), name, pa.array(values, lines.schema.field(name).type))


@given(row=st.integers(0, 300))
@settings(max_examples=5)
def test_incomplete_entries_are_found(march_lines, row):
    entry_id, line_id = march_lines["journal_entry_id"][row].as_py(), march_lines["id"][row].as_py()
    amount = march_lines["signed_amount"][row].as_py() + 1
    of_entry = pc.equal(march_lines["journal_entry_id"], entry_id).to_pylist()
    naming = [
        f"{text}|absent" if is_named else text
        for text, is_named in zip(march_lines["journal_entry_line_entry_ids"].to_pylist(), of_entry, strict=True)
    ]
    column = march_lines.column_names.index("journal_entry_line_entry_ids")
    for changed in (
        pa.concat_tables([march_lines[:row], march_lines[row + 1 :]]),
        set_value(march_lines, row, "signed_amount", amount),
        march_lines.set_column(column, "journal_entry_line_entry_ids", pa.array(naming)),
    ):
        found = find_incompleteness(changed, MARCH, 2)
        assert found == (f"1 does not balance, or lacks a line that is named: {entry_id}", [entry_id])
    twice = pa.concat_tables([march_lines, march_lines[row : row + 1]])
    assert find_incompleteness(twice, MARCH, 2)[0] == f"1 line is there more than once: {line_id}"
