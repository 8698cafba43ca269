"""The certificate: every planted gap is found and named, and sound books have none."""

from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import FrameError
from accounting_analytics.schemas import LineEntries

LINES = [
    ("a", "bank", "e1", "-5.00"),
    ("b", "rent", "e1", "5.00"),
    ("c", "bank", "e2", "7.01"),
    ("d", "sales", "e2", "-7.01"),
]


def frame(lines, *, named=True):
    """Return line entries of (id, ledger, entry, signed amount)."""
    ids = {}
    for line_id, _, entry, _ in LINES:
        ids.setdefault(entry, []).append(line_id)
    signed = [Decimal(amount) for *_, amount in lines]
    columns = {
        "id": [line[0] for line in lines],
        "ledger_id": [line[1] for line in lines],
        "ledger_name": [line[1] for line in lines],
        "journal_entry_id": [line[2] for line in lines],
        "journal_entry_description": [None] * len(lines),
        "datetime": [pd.Timestamp("2025-03-01", tz="UTC")] * len(lines),
        "amount": [abs(amount) for amount in signed],
        "debit_credit": ["debit" if amount > 0 else "credit" for amount in signed],
        "signed_amount": signed,
        **dict.fromkeys(
            ("description", "transaction_id", "related_line_entry_id", "editable", "tag_ids"), [None] * len(lines)
        ),
        **({"journal_entry_line_entry_ids": [ids[line[2]] for line in lines]} if named else {}),
    }
    dtypes = LineEntries.dtypes()
    return LineEntries.checked(
        pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})
    )


def test_sound_books_are_complete():
    """Debits equal credits, every named line is here, and the summary says so."""
    certificate = aa.check_completeness(frame(LINES))
    assert certificate.complete
    assert (certificate.lines, certificate.entries, certificate.debits, certificate.credits) == (
        4,
        2,
        Decimal("12.01"),
        Decimal("12.01"),
    )
    assert "complete: 4 lines of 2 journal entries; debits = credits = 12.01" in certificate.summary()


def test_a_missing_line_is_named():
    """A line that its entry names and the load lacks is found twice over: by name, and by its entry's gap."""
    certificate = aa.check_completeness(frame(LINES[:3]))
    assert not certificate.complete
    assert certificate.problems["journal_entry_id"].tolist() == ["e2", "e2"]
    assert certificate.problems["line_entry_id"].dropna().tolist() == ["d"]
    assert certificate.problems["difference"].dropna().tolist() == [Decimal("7.01")]
    assert certificate.summary().startswith("NOT COMPLETE: 2 problem(s)")


def test_a_cent_off_is_found_without_names():
    """Without the entries' line ids an unbalanced entry still shows, and the certificate says what was not checked."""
    lines = [*LINES[:3], ("d", "sales", "e2", "-7.00")]
    certificate = aa.check_completeness(frame(lines, named=False))
    assert certificate.problems["difference"].tolist() == [Decimal("0.01")]
    assert "no line ids" in aa.check_completeness(frame(LINES, named=False)).summary()


def test_nothing_is_complete():
    """No lines at all are complete: there is nothing to miss."""
    assert aa.check_completeness(frame([])).complete


def test_html_is_escaped():
    """Ids in the notebook's table are text."""
    signed = frame([("a", "bank", "e1", "1.00")], named=False).assign(journal_entry_id=["<script>"])
    assert "<script>" not in aa.check_completeness(signed)._repr_html_()


def test_other_frames_are_refused():
    """A frame without the columns is no load."""
    with pytest.raises(FrameError, match="journal_entry_id"):
        aa.check_completeness(frame(LINES).drop(columns="journal_entry_id"))
