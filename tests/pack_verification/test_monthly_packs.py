"""Monthly packs as they are made: no alarm on genuine ones, every alteration found, by both checks."""

import shutil

import pytest
from alterations import ALTERATIONS, BESIDE, CALCULATED, LOADING, alter
from small_packs import UNUSUAL_NAMES

import accounting_analytics as aa

PERIODS = [
    *(f"2026-{month:02}" for month in range(1, 6)),
    *(f"2026-{month:02}-{day:02}/2026-{month:02}-{day + 8:02}" for month in range(1, 6) for day in (1, 7, 12, 17)),
]
needs_browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.mark.soak
@pytest.mark.browser
@needs_browser
def test_no_alarm_on_genuine_packs(unusual_client, check_in_browser, soak_count, tmp_path):
    """Books with markup, line breaks and emoji in names and texts, of months and of weeks, with and without sums."""
    path = tmp_path / "pack.html"
    for number, period in enumerate([*PERIODS, *PERIODS][: soak_count(50, fewer=2)]):
        made = aa.monthly_pack(
            unusual_client,
            period,
            company=UNUSUAL_NAMES["company"],
            currency=("USD", "\u20ac", "")[number % 3],
            books_start="2026-01-01" if number % 2 else None,
            progress=False,
        )
        made.save(path)
        result = aa.verify_pack(path, fingerprint=made.fingerprint)
        assert (list(result.differences), result.unchecked) == ([], ()), period
        assert result.figures > 100
        passed, text = check_in_browser(path, made.fingerprint)
        assert passed, (period, text)
        assert f"{result.figures:,} figures recomputed from {result.entries:,} line entries" in text


IN_EVERY_RUN = {"amount", "verdict", "other script", "percentage", "whole of a percentage"}


@pytest.mark.soak
@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(
    "name",
    [one if one in IN_EVERY_RUN else pytest.param(one, marks=pytest.mark.long) for one in ALTERATIONS],
)
def test_every_alteration_is_found(demo_pack, check_in_browser, soak_count, tmp_path, name):
    """Both checks find each with the fingerprint, and without it they find the same."""
    text, fingerprint = demo_pack.html, demo_pack.fingerprint
    path = tmp_path / "pack.html"
    for seed in range(soak_count(20, fewer=1)):
        altered = alter(name, seed, text)
        path.write_text(altered, encoding="utf-8", newline="\n")
        assert not aa.verify_pack(path, fingerprint=fingerprint).verified
        assert not check_in_browser(path, fingerprint)[0]
        is_found = (not aa.verify_pack(path).verified, not check_in_browser(path)[0])
        if name in {*LOADING, *BESIDE}:  # which only the first looks for
            assert is_found[0], (name, seed)
            continue
        assert is_found[0] == is_found[1], (name, seed)
        if name != "ledger":  # of two ledgers of one total, in days of which only the total is shown
            assert is_found[0] == (name in CALCULATED), (name, seed)
