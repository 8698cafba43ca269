"""Books of a folder without any: what they say, and what they refuse."""

import json

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError


def test_books_before_the_first_sync(tmp_path):
    """They say in every form that there are none yet; whatever needs lines is refused and names the sync."""
    books = aa.Books.open(tmp_path / "new")
    assert "none yet" in repr(books)
    assert books.explain() == books.summary() == f"Local books in {tmp_path / 'new'}: none yet, sync first."
    assert "none yet, sync first" in books._repr_html_()
    assert json.loads(books.to_json()) == {"folder": str(tmp_path / "new"), "version": None}
    assert (books.version, books.notes, len(books.frame)) == (None, (), 0)
    for refused in (books.line_entries, books.ledgers, books.closed, books.alarms, lambda: books.drift(0)):
        with pytest.raises(InputError, match="sync"):
            refused()
    assert not (tmp_path / "new").exists()
