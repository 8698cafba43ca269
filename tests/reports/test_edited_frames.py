"""A frame whose lines were edited is never taken for the load that it states; one that was only handled is."""

import io
import pickle

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError

DAYS = ("2025-03-01", "2025-03-31")
CHANGED = "amounts, days or ledgers were changed after the load"


@pytest.fixture(scope="module")
def ledgers(demo_company):
    return aa.discover_ledgers(demo_company.client, *DAYS)


@pytest.fixture(scope="module")
def march_lines(demo_company, ledgers):
    return aa.load_line_entries(demo_company.client, ledgers["id"], "2025-01-01", DAYS[1])


def through_parquet(frame):
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return pd.read_parquet(stream)


HANDLED = {
    "as it is": lambda lines: lines,
    "copied": lambda lines: lines.copy(),
    "in another order": lambda lines: lines.sample(frac=1, random_state=3),
    "with another index": lambda lines: lines.set_index("id", drop=False),
    "with a column of one's own": lambda lines: lines.assign(who="me"),
    "pickled": lambda lines: pickle.loads(pickle.dumps(lines)),  # noqa: S301 (our own)
    "saved as Parquet": through_parquet,
    "in parts again": lambda lines: pd.concat([lines.tail(100), lines.head(len(lines) - 100)]),
    "an Arrow table": lambda lines: pa.Table.from_pandas(lines, preserve_index=False),
    "with rounding noise": lambda lines: lines.assign(signed_amount=(lines["signed_amount"] + 0.1) - 0.1),
}


@pytest.mark.parametrize("how", HANDLED)
def test_handled_frames_are_the_load(march_lines, ledgers, how):
    handled = HANDLED[how](march_lines)
    found, expected = (aa.income_statement(aa.Books(one, ledgers), DAYS) for one in (handled, march_lines))
    assert found["Net income", "2025-03"].exact() == expected["Net income", "2025-03"].exact()
    assert aa.recompute_cash_flow(aa.Books(handled, ledgers), DAYS).exact().sums == (
        aa.recompute_cash_flow(aa.Books(march_lines, ledgers), DAYS).exact().sums
    )
    if isinstance(handled, pd.DataFrame):
        assert aa.check_completeness(aa.Books(handled, ledgers)).complete


def edited(lines, row, column, sign):
    """Return lines with a value of a whole entry changed by its smallest part, so that the entry still balances."""
    other = lines.copy()
    at = other.index[row % len(other)]
    if column == "ledger_id":
        ids = sorted(set(other["ledger_id"]) - {other.loc[at, "ledger_id"]})
        other.loc[at, "ledger_id"] = ids[row % len(ids)]
        return other
    chosen = other["journal_entry_id"] == other.loc[at, "journal_entry_id"]
    if column == "datetime":
        other.loc[chosen, "datetime"] += sign * pd.Timedelta("1us")
        return other
    cents = pd.Series([sign * 0.01, -sign * 0.01], index=other.index[chosen][:2])
    other.loc[cents.index, "signed_amount"] = (other.loc[cents.index, "signed_amount"] + cents).round(2)
    return other


@given(
    row=st.integers(0, 10**6),
    change=st.tuples(st.sampled_from(["ledger_id", "datetime", "signed_amount"]), st.sampled_from([1, -1])),
)
def test_the_smallest_edit_is_refused(march_lines, ledgers, row, change):
    other = edited(march_lines, row, *change)
    with pytest.raises(IncompleteLoadError, match=f"the lines are not those that were loaded: {CHANGED}"):
        aa.Books(other, ledgers)


def test_edited_frame_names_ledger_and_both_sums(march_lines, ledgers):
    rent = march_lines.index[march_lines["ledger_id"] == "led_rent"][-1]
    other = march_lines.copy()
    other.loc[rent, ["amount", "signed_amount"]] += 100.0
    message = r"ledger led_rent sums to 22,900\.00, and was loaded with 22,800\.00 \(lines of your own state no load"
    with pytest.raises(IncompleteLoadError, match=message):
        aa.Books(other, ledgers)
    books = aa.Books(march_lines, ledgers).with_lines(other, label="a higher rent")
    assert books.extent.changes == ("1 line amended",)
    assert aa.income_statement(books, DAYS).title == "Income statement, a higher rent"
    with pytest.raises(FrameError, match="a line entry id occurs more than once"):
        books.with_lines(pd.concat([march_lines, march_lines.tail(1)]), label="twice")
    with pytest.raises(FrameError, match=r"signed_amount is not \+amount on the debit side"):
        books.with_lines(march_lines.assign(signed_amount=-march_lines["signed_amount"]), label="turned")
    moved = march_lines.copy()
    moved.loc[rent, "ledger_id"] = "led_software"
    moved.attrs.pop("load")
    statement = aa.income_statement(aa.Books(moved, ledgers, scale=2), DAYS)
    assert "The frame does not state its load" in " ".join(statement.notes)


def test_ledgers_of_another_company_are_refused(march_lines, deep_books):
    with deep_books.client() as client:
        others = aa.discover_ledgers(client, "2025-01-01", "2025-01-31", progress=False)
    with pytest.raises(
        InputError, match=r"the ledgers are those of instance .*, and the lines of harbor-lane: pass the"
    ):
        aa.Books(march_lines, others)
