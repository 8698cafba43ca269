"""Rows of line entries and the records made of them."""

from accounting_analytics.service.bookkeeping.post_entries import NewLine
from accounting_analytics.service.storage.tables import LINE_TEXTS, line_entries
from accounting_analytics.service.wire.response_models import LineEntry


def test_texts_have_one_name_from_posting_to_response():
    """Each text of a line is a field of the posted line and of the response, and a column in between."""
    assert "description" in LINE_TEXTS
    for names in (NewLine.__struct_fields__, LineEntry.__struct_fields__, line_entries.c.keys()):
        assert set(LINE_TEXTS) <= set(names)
