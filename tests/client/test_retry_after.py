"""Retries: the wait in a Retry-After header."""

import time

import pytest

from accounting_analytics.client.retries import retry_after

NOON = 1_762_862_400.0  # 2025-11-11 12:00:00 UTC, a Tuesday


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0.25", 0.25),
        (" 3 ", 3.0),
        ("0", 0.0),
        ("Tue, 11 Nov 2025 12:00:30 GMT", 30.0),
        ("Tue, 11 Nov 2025 12:00:30", 30.0),
        ("Tue, 11 Nov 2025 12:00:30 -0000", 30.0),
        ("Tue, 11 Nov 2025 13:00:30 +0100", 30.0),
        ("Tue, 11 Nov 2025 11:00:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Tue, 99 Nov 2025 12:00:30 GMT", None),
    ],
)
def test_waits_are_read(monkeypatch, zone, text, seconds):
    """Seconds, fractions and dates are read, in any time zone of the machine; anything else is ignored."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert retry_after({"retry-after": text}, NOON) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


def test_without_the_header_there_is_no_wait():
    """A missing header is None."""
    assert retry_after({}, NOON) is None
