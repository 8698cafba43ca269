"""Completeness: every planted gap is found and named, and complete books have none."""

import json
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pytest
from planted_books import Line, line_frame
from small_reports import small_report

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError
from accounting_analytics.reconciliation.compared_report import compare_reports

MARCH = ("2025-03-01", "2025-03-31")
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
    at = pd.Timestamp("2025-03-01", tz="UTC")
    written = [Line(one, ledger, entry, at, Decimal(amount), None) for one, ledger, entry, amount in lines]
    found = line_frame(written)
    named_ids = ["|".join(ids[entry]) for _, _, entry, _ in lines]
    return found.assign(journal_entry_line_entry_ids=pd.Series(named_ids, dtype="str")) if named else found


LEDGERS = pd.DataFrame(
    {
        "id": ["bank", "rent", "sales"],
        "name": ["Bank", "Rent", "Sales"],
        "report_cash_flow": [True, False, False],
        "parent_id": pd.Series([None] * 3, dtype="str"),
        "sort_code": ["1", "2", "3"],
    }
)


def certified(lines, *reports):
    """Return the certificate of lines, with reports of the service."""
    return aa.check_completeness(aa.Books(lines, LEDGERS, MARCH, time_zone="UTC", reports=reports))


def test_sound_books_are_complete():
    certificate = certified(loaded_frame())
    assert certificate.complete
    assert (certificate.lines, certificate.entries, certificate.debits, certificate.credits) == (
        4,
        2,
        Decimal("12.01"),
        Decimal("12.01"),
    )
    assert "complete for 2 ledgers: 4 lines of 2 journal entries; debits = credits = 12.01" in certificate.summary()


@pytest.mark.parametrize("name", ["id", "ledger_id", "journal_entry_id", "signed_amount"])
def test_nulls_are_refused(name):
    """A line without an id, entry or amount would be left out of the checks, so the frame is refused."""
    lines = loaded_frame()
    lines.loc[lines["journal_entry_id"] == "e2", name] = None
    with pytest.raises(FrameError, match=f"column '{name}' is null where a value is required"):
        certified(lines)
    with pytest.raises(FrameError, match=name):
        certified(lines.drop(columns=name))


def test_a_missing_line_is_named():
    certificate = certified(frame(LINES[:3]))
    assert not certificate.complete
    assert certificate.problems["journal_entry_id"].tolist() == ["e2", "e2"]
    assert certificate.problems["line_entry_id"].dropna().tolist() == ["d"]
    assert certificate.problems["difference"].dropna().tolist() == [7.01]
    assert certificate.summary().startswith("NOT COMPLETE: 2 problems")
    assert "- entry e2: debits and credits differ by 7.01" in certificate.explain()
    parsed = json.loads(certificate.to_json())
    assert (parsed["complete"], parsed["debits"], parsed["credits"]) == (False, "12.01", "5.00")
    assert parsed["problems"][0] == {
        "journal_entry_id": "e2",
        "problem": "debits and credits differ",
        "line_entry_id": None,
        "difference": "7.01",
        "where": None,
    }


def test_a_cent_off_is_found_without_names():
    lines = [*LINES[:3], ("d", "sales", "e2", "-7.00")]
    certificate = certified(frame(lines, named=False))
    assert certificate.problems["difference"].tolist() == [0.01]
    assert "no line ids" in certified(loaded_frame(named=False)).summary()


def test_a_load_without_lines_is_complete():
    empty = frame([])
    empty.attrs["load"] = METADATA | {"lines": 0}
    assert certified(empty).complete


def test_html_is_escaped():
    signed = frame([("a", "bank", "e1", "1.00")], named=False).assign(journal_entry_id=["<script>"])
    assert "<script>" not in certified(signed)._repr_html_()


METADATA = {
    "start_date": "2025-03-01",
    "end_date": "2025-03-31",
    "time_zone": "UTC",
    "filters": {},
    "complete": True,
    "ledgers": '{"bank": "2025-03-01/2025-03-15 2025-03-16/2025-03-31", "rent": "2025-03-01/2025-03-31"}',
    "missing": {},
    "lines": len(LINES),
}


def loaded_frame(*, named=True, **changes):
    """Return the complete frame with load metadata."""
    loaded = frame(LINES, named=named)
    loaded.attrs["load"] = METADATA | changes
    return loaded


def test_a_filtered_frame_is_not_complete():
    loaded = loaded_frame()
    for changed in (loaded[loaded["journal_entry_id"] != "e1"], loaded.iloc[[*range(len(loaded)), 0]]):
        with pytest.raises(IncompleteLoadError, match="not those that were loaded"):
            certified(changed)
    chosen = aa.Books(loaded, LEDGERS).with_lines(loaded[loaded["journal_entry_id"] != "e1"], label="without rent")
    with pytest.raises(InputError, match=r"a certificate takes the lines as they were loaded, .* 'without rent'"):
        aa.check_completeness(chosen)
    assert certified(loaded).complete


def test_a_frame_without_metadata_is_never_complete():
    certificate = certified(frame(LINES))
    assert not certificate.complete
    assert certificate.problems.empty
    assert certificate.summary() == (
        "not checked: the frame has no load metadata, so missing days and entries would not be found; 4 lines of 2 "
        "journal entries"
    )
    parsed = json.loads(certificate.to_json())
    assert (parsed["complete"], parsed["not_checked"]) == (False, "the frame has no load metadata")
    assert "complete" not in certificate._repr_html_()


@pytest.mark.parametrize("loaded", [True, False])
def test_lines_that_appear_twice_are_found(loaded):
    once = frame(LINES)
    twice = pd.concat([once, once[once["journal_entry_id"] == "e1"]], ignore_index=True)
    if loaded:
        twice.attrs["load"] = METADATA | {"lines": len(twice)}
    if not loaded:
        with pytest.raises(FrameError, match="a line entry id occurs more than once: a, b"):
            certified(twice)
        return
    certificate = certified(twice)
    assert not certificate.complete
    assert certificate.problems["line_entry_id"].tolist() == ["a", "b"]
    assert certificate.problems["problem"].tolist() == ["the line appears 2 times"] * 2
    assert certificate.summary().startswith("NOT COMPLETE: 2 problems in 6 lines of 2 journal entries; first: line a")


def test_what_was_verified_is_stated():
    everything = certified(loaded_frame(consistency="all", of_one_moment="2025-03-01/2025-03-31"))
    assert everything.consistency == json.loads(everything.to_json())["consistency"] == "all"
    assert everything.summary().endswith("; no day changed while it was read")
    assert ("the days did not change while they were read", 31, 0, "") in everything.checks
    a_week = certified(loaded_frame(consistency="all", of_one_moment="2025-03-25/2025-03-31"))
    assert "(not checked: the other 24 days of Mar 2025" in " ".join(a_week.explain().split())
    assert a_week.summary().endswith("; of one moment: only 25 to 31 Mar 2025")
    one_page = certified(loaded_frame(consistency="newest", of_one_moment="/".join(MARCH)))
    assert one_page.summary().endswith("; no day changed while it was read")
    newest = certified(loaded_frame(consistency="newest", of_one_moment="not checked"))
    assert newest.summary().endswith("; of one moment: not checked (only the newest days were read again)")
    assert newest.of_one_moment == json.loads(newest.to_json())["of_one_moment"] == "not checked"
    assert "(not checked: only the newest days were read again)" in " ".join(newest.explain().split())
    assert certified(loaded_frame()).consistency == ""


@pytest.mark.parametrize("opposing", [True, False])
def test_ledgers_that_cannot_be_balanced_are_named_first(opposing):
    loaded = loaded_frame(
        ledgers='{"bank": "2025-03-01/2025-03-31"}', lines=2, consistency="all", of_one_moment="/".join(MARCH)
    )
    bank = loaded[loaded["ledger_id"] == "bank"]
    if opposing:
        bank = bank.assign(opposing_ledger_ids=pd.array(["rent", "sales|taxes"], dtype="str"))
    certificate = certified(bank)
    first = certificate.explain().splitlines()[0]
    assert not certificate.complete
    assert first.startswith("NOT BALANCED: ")
    assert "so a missing line would not be found; 2 lines of 2 journal entries; no day changed" in first
    assert ("without 3 ledgers opposite (rent, sales, taxes)" in first) is opposing
    assert json.loads(certificate.to_json())["not_balanced"] in first


def make_report(
    lines=(("b", "rent", "-5.00"), ("d", "sales", "7.01")), *, days=MARCH, starting="10.00", ending="12.01"
):
    """Return a report of (line id, ledger, amount), with one cash ledger."""
    entry_of = {line_id: entry for line_id, _, entry, _ in LINES}
    instant = pd.Timestamp("2025-03-01", tz="UTC")
    of_report = [(one, ledger_id, entry_of.get(one, "e9"), amount, instant) for one, ledger_id, amount in lines]
    return small_report(of_report, days=days, starting=starting, ending=ending)


def failed(certificate):
    """Return how often each check failed, by the place of the check."""
    return [check.failed for check in certificate.checks[:-1]]  # that these are all ledgers is never checked


def test_everything_can_be_checked():
    reports = [make_report(), make_report((), days=("2025-04-01", "2025-04-30"), starting="12.01", ending="12.01")]
    verified = loaded_frame(consistency="all", of_one_moment="/".join(MARCH))
    certificate = certified(verified, *reports)
    assert certificate.complete
    assert [check.checked for check in certificate.checks] == [4, 2, 4, 2, 2, 1, 31, 0]
    assert [check.note for check in certificate.checks] == [*[""] * 7, "the service has no list of them"]
    assert certificate.checks[-1].what == "the loaded ledgers are all ledgers of the books"


def test_unchecked_claims_are_stated():
    certificate = certified(frame(LINES, named=False))
    assert [bool(check.note) for check in certificate.checks] == [False, False, *[True] * 6]
    assert "not checked: no report was given" in certificate.explain()
    assert "no report was given" in certificate._repr_html_()


@pytest.mark.parametrize(
    ("windows", "days"),
    [
        ("", "2025-03-01 to 2025-03-31"),
        ("2025-03-02/2025-03-31", "before 2025-03-02"),
        ("2025-03-01/2025-03-30", "after 2025-03-30"),
        ("2025-03-01/2025-03-10 2025-03-12/2025-03-31", "between 2025-03-10 and 2025-03-12"),
        ("2025-03-01/2025-03-10 2025-03-10/2025-03-31", "between 2025-03-10 and 2025-03-10"),
    ],
)
def test_days_without_a_window_are_named(windows, days):
    certificate = certified(loaded_frame(ledgers=json.dumps(json.loads(METADATA["ledgers"]) | {"rent": windows})))
    assert failed(certificate) == [0, 0, 0, 1, 0, 0, 0]
    assert days in certificate.summary()
    assert "rent" in certificate.summary()


@pytest.mark.parametrize(
    ("lines", "problem", "difference"),
    [
        ((("b", "rent", "-5.00"), ("z", "sales", "7.01")), "a line of the report is missing", None),
        ((("b", "rent", "-5.01"), ("d", "sales", "7.01")), "the report has a different amount", -0.01),
        ((("a", "rent", "-4.00"), ("c", "sales", "7.01")), "the report has a different amount", 1.0),
    ],
)
def test_report_lines_that_were_not_loaded_are_named(lines, problem, difference):
    certificate = certified(frame(LINES), make_report(lines))
    assert failed(certificate) == [0, 0, 0, 0, 1, 0, 0]
    assert certificate.problems["problem"].tolist() == [problem]
    assert certificate.problems["difference"].dropna().tolist() == ([] if difference is None else [difference])
    assert "report of 2025-03-01" in certificate.summary()


def test_reports_may_give_ids_of_cash_lines():
    report = make_report((("a", "rent", "-5.00"), ("c", "sales", "7.01")))
    assert certified(loaded_frame(), report).complete


def test_different_balances_of_adjoining_months_are_named():
    months = [make_report((), days=("2025-04-01", "2025-04-30"), starting="12.02", ending="12.02"), make_report()]
    certificate = certified(frame(LINES), *months)
    assert failed(certificate) == [0, 0, 0, 0, 0, 1, 0]
    assert certificate.problems["difference"].tolist() == [0.01] * 2
    assert "between 2025-03-31 and 2025-04-01" in certificate.explain()


@pytest.mark.parametrize(
    "other", [aa.Period("2025-05-01", "2025-05-31"), aa.Period("2025-04-01", "2025-04-30", "Asia/Tokyo")]
)
def test_reports_that_do_not_adjoin_are_not_compared(other):
    apart = [make_report(), replace(make_report(()), period=other)]
    assert certified(frame(LINES), *apart).checks[-3].note == "no two reports have adjoining periods"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"complete": False, "missing": {"rent": "2025-03-01/2025-03-31"}}, "ledger rent: 2025-03-01/2025-03-31"),
        ({"end_date": "2025-03-30"}, "does not include all of Mar 2025"),
        ({"time_zone": "Asia/Tokyo"}, "does not include all of"),
    ],
)
def test_incomplete_loads_are_recomputed_only_when_allowed(changes, reason):
    lines = loaded_frame(**changes)
    with pytest.raises(IncompleteLoadError, match=f"{reason}.*allow_partial=True"):
        aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), MARCH)
    report = aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), MARCH, allow_partial=True)
    assert report.partial
    assert reason in report.notes[0]
    assert "PARTIAL" in report._repr_html_()
    reconciled = compare_reports(make_report(starting="0.00", ending="2.01"), report)
    assert reconciled.explain().startswith("PARTIAL: ")
    assert "PARTIAL" in aa.charts.waterfall(report).layout.title.subtitle.text


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"filters": {"tag_ids": ["tag_1"]}},
            InputError,
            r"only lines with tag_ids=\['tag_1'\] were loaded, which are",
        ),
        ({"filters": {"is_cashflow": False}}, InputError, "only lines with is_cashflow=False were loaded, which are"),
        ({"lines": 5}, IncompleteLoadError, "not those that were loaded: 1 lines were removed after the load of 5"),
    ],
)
def test_loads_of_other_lines_are_no_books(changes, error, message):
    with pytest.raises(error, match=message):
        aa.Books(loaded_frame(**changes), LEDGERS, time_zone="UTC")


def test_partial_books_that_do_not_balance_are_recomputed_when_allowed():
    lines = frame(LINES[:3])
    with pytest.raises(IncompleteLoadError, match="does not balance"):
        aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), MARCH)
    report = aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), MARCH, allow_partial=True)
    assert report.partial
    assert report.net_cash_flow == Decimal("-5.00")


def test_whole_loads_are_not_partial():
    lines = loaded_frame(start_date="2025-02-28", end_date="2025-04-01", time_zone="Asia/Tokyo")
    assert not aa.recompute_cash_flow(aa.Books(lines, LEDGERS), MARCH).partial
