"""Reports against hledger: both agree on every book, planted errors are named, and what cannot be compared is not."""

import dataclasses
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from books_strategy import CASH, ledger_frame, line_table, requests
from hledger_books import awkward_books
from hypothesis import given, settings
from naive_statements import NaiveBooks, NaiveLedger, NaiveLine

import accounting_analytics as aa
from accounting_analytics.errors import IncompleteLoadError, InputError, PeriodError
from accounting_analytics.schemas import SecondOpinions
from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

SAMPLE = Path(__file__).parents[2] / "data" / "sample.journal"
CENT = Decimal("0.01")
PERIODS = [("2025-01-01", "2026-06-30"), ("2025-11-05", "2026-03-10"), ("2026-02-28", "2026-02-28")]
RENT = NaiveLedger("rent", "Rent", "expense", "operating_expenses")


@pytest.fixture(scope="module")
def demo(demo_company):
    """Return all ledgers and line entries of the demo company."""
    days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *days, progress=False)
    return ledgers, aa.load_line_entries(demo_company.client, ledgers["id"], *days, progress=False)


@pytest.fixture(scope="module")
def february(demo):
    """Return the recomputed February of the demo company, with decimals."""
    ledgers, lines = demo
    return aa.recompute_cash_flow(lines, ledgers, "2025-02-01", "2025-02-28", amounts="decimal")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that puts a shell script in the place of hledger."""

    def replace(script):
        path = tmp_path / "hledger"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    return replace


def small_books(*entries):
    """Books of entries of (ledger, units, days after 2025-01-31) lines."""
    noon = dt.datetime(2025, 1, 31, 12, tzinfo=dt.UTC)
    lines = [
        NaiveLine(f"le{number}.{place}", ledger, f"je{number}", noon + dt.timedelta(days=days), units)
        for number, entry in enumerate(entries)
        for place, (ledger, units, days) in enumerate(entry)
    ]
    naive = NaiveBooks([*CASH, RENT, NaiveLedger("sales", "Sales", "revenue", "x")], lines, "UTC")
    return line_table(naive), ledger_frame(naive)


def shifted(report, table, ledger_id, column):
    """Report with a cent more in one figure."""
    frame = getattr(report, table)
    cells = zip(frame["ledger_id"], frame[column], strict=True)
    amounts = pd.Series([amount + CENT * (one == ledger_id) for one, amount in cells], dtype=frame[column].dtype)
    return dataclasses.replace(report, **{table: frame.assign(**{column: amounts})})


@pytest.mark.hledger
@pytest.mark.parametrize("days", PERIODS)
def test_hledger_agrees_on_the_demo_books(demo, demo_company, days):
    """The service's report and the recomputed one agree with hledger in every figure."""
    ledgers, lines = demo
    for report in (
        aa.load_cash_flow_report(demo_company.client, *days),
        aa.recompute_cash_flow(lines, ledgers, *days, amounts="decimal"),
    ):
        opinion = aa.second_opinion(report, lines, ledgers)
        assert opinion.agrees
        assert opinion.compared_everything
        exact, frame = report.exact(), SecondOpinions.exact(opinion.frame).frame
        flows = frame[frame["what"] == "net_cash_flow"]
        expected = {
            ledger_id: amount
            for ledger_id, amount in zip(exact.ledgers["ledger_id"], exact.ledgers["net_cash_flow"], strict=True)
            if amount
        }
        assert dict(zip(flows["ledger_id"], flows["hledger"], strict=True)) == expected
        ending = frame[frame["what"] == "ending_balance"]
        assert ending["hledger"].sum() == report.exact_sums().ending_cash_balance
        assert len(frame) == len(expected) + 2 * 4


@pytest.mark.hledger
def test_hledger_agrees_on_the_sample(tmp_path):
    """The report of the imported sample agrees with hledger in every figure, also in its second month alone."""
    with Store.open(tmp_path / "books.db") as store:
        instance_id = create_instance(store)
        import_books(store, instance_id, SAMPLE, cash=("assets:bank*", "liabilities:credit card"))
        token = issue_token(store, instance_id)
    with (
        running(tmp_path / "books.db") as service,
        aa.LedgerClient(service.base_url, token=token, instance_id=instance_id) as client,
    ):
        days = ("2025-01-01", "2025-02-28")
        ledgers = aa.discover_ledgers(client, *days, progress=False)
        lines = aa.load_line_entries(client, ledgers["id"], *days, progress=False)
        for first in ("2025-01-01", "2025-02-01"):
            report = aa.load_cash_flow_report(client, first, days[1])
            opinion = aa.second_opinion(report, lines, ledgers, books_start="2025-01-01")
            assert opinion.agrees
            assert opinion.compared_everything
            assert (opinion.frame["what"] == "net_cash_flow").sum() >= 3
            assert "agree to the last digit." in opinion.summary()


@pytest.mark.hledger
@settings.get_profile("slow")
@given(awkward_books(), requests())
def test_hledger_agrees_on_random_books(naive, request_):
    """Whatever the entries, names and ids, the recomputed report of any days agrees with hledger in every figure."""
    frames, days = (line_table(naive), ledger_frame(naive)), (request_.start, request_.end)
    report = aa.recompute_cash_flow(*frames, *days, time_zone=naive.zone, amounts="decimal")
    opinion = aa.second_opinion(report, *frames)
    assert opinion.agrees
    assert opinion.compared_everything


@pytest.mark.hledger
def test_a_wrong_flow_is_named(demo, february):
    """One cent in one category is found, and named with both amounts."""
    flow = february.ledgers.loc[february.ledgers["net_cash_flow"] != 0].iloc[0]
    wrong = shifted(february, "ledgers", flow["ledger_id"], "net_cash_flow")
    opinion = aa.second_opinion(wrong, demo[1], demo[0])
    assert not opinion.agrees
    assert list(opinion.differing["ledger_id"]) == [flow["ledger_id"]]
    assert "1 figure(s) differ: " in opinion.summary()
    amount = flow["net_cash_flow"]
    assert (
        f"- net cash flow: {flow['name']} ({flow['ledger_id']}): report {amount + CENT:,}, hledger {amount:,}, "
        "difference 0.01." in opinion.explain()
    )


@pytest.mark.hledger
@pytest.mark.parametrize("side", ["starting", "ending"])
@pytest.mark.parametrize("books_start", [None, "2025-01-01"])
def test_a_wrong_balance_is_named(demo, february, side, books_start):
    """One cent in one balance is found, whether the first day of the books is known or not."""
    wrong = shifted(february, f"{side}_balances", "led_savings", "cash_balance")
    opinion = aa.second_opinion(wrong, demo[1], demo[0], books_start=books_start)
    assert set(opinion.differing["ledger_id"]) == {"led_savings"}
    expected = "ending_balance" if books_start is None else f"{side}_balance"
    assert list(opinion.differing["what"]) == [expected]


@pytest.mark.hledger
def test_swapped_categories_are_found(demo, february):
    """Amounts that changed places keep every total, and are found by category."""
    ids = february.ledgers.loc[february.ledgers["net_cash_flow"] != 0, "ledger_id"].iloc[:2]
    frame = february.ledgers.set_index("ledger_id")
    frame.loc[ids, "net_cash_flow"] = frame.loc[ids[::-1], "net_cash_flow"].array
    wrong = dataclasses.replace(february, ledgers=frame.reset_index()[list(february.ledgers)])
    wrong.ledgers.attrs = february.ledgers.attrs
    assert wrong.net_cash_flow == february.net_cash_flow
    assert set(aa.second_opinion(wrong, demo[1], demo[0]).differing["ledger_id"]) == set(ids)


@pytest.mark.hledger
def test_a_chart_with_another_cash_ledger_is_found(demo, february):
    """Where the chart calls a ledger cash that the report does not, balance and flow differ."""
    moved = february.ledgers.loc[february.ledgers["net_cash_flow"] != 0, "ledger_id"].iloc[0]
    ledgers = demo[0].assign(report_cash_flow=demo[0]["report_cash_flow"] | (demo[0]["id"] == moved))
    opinion = aa.second_opinion(february, demo[1], ledgers)
    named = set(zip(opinion.differing["ledger_id"], opinion.differing["what"], strict=True))
    assert {(moved, "ending_balance"), (moved, "net_cash_flow")} <= named


@pytest.mark.hledger
def test_balances_without_history(demo, demo_company):
    """Where lines before the period were not loaded, starting balances are not compared, and changes are."""
    days = ("2025-02-01", "2025-02-28")
    lines = aa.load_line_entries(demo_company.client, demo[0]["id"], *days, progress=False)
    report = aa.load_cash_flow_report(demo_company.client, *days)
    opinion = aa.second_opinion(report, lines, demo[0])
    assert opinion.agrees
    assert not opinion.compared_everything
    left = opinion.frame[opinion.frame["agrees"].isna()]
    assert set(left["what"]) == {"starting_balance"}
    assert left["hledger"].isna().all()
    assert "not compared: starting balance of " in opinion.explain()
    assert "pass books_start" in opinion.explain()
    with pytest.raises(IncompleteLoadError, match=r"not exactly those of 2025-01-01 to 2025-02-28.*: the load covers"):
        aa.second_opinion(report, lines, demo[0], books_start="2025-01-01")
    with pytest.raises(PeriodError, match="books_start 2025-02-02 is after the report's first day, 2025-02-01"):
        aa.second_opinion(report, lines, demo[0], books_start="2025-02-02")


@pytest.mark.hledger
def test_an_entry_across_the_end_of_the_period_is_not_compared():
    """The flow of its ledgers depends on the reading; balances and other flows are compared."""
    lines, ledgers = small_books(
        [("bank", -500, 0), ("rent", 500, 1)], [("card", 300, 0), ("sales", -300, 0)], [("bank", 7, 1), ("card", -7, 1)]
    )
    days = ("2025-01-01", "2025-01-31")
    report = aa.recompute_cash_flow(lines, ledgers, *days, allow_partial=True)
    opinion = aa.second_opinion(report, lines, ledgers)
    assert opinion.agrees
    assert list(opinion.frame.loc[opinion.frame["agrees"].isna(), "ledger_id"]) == ["rent"]
    assert "has lines in the period and outside it" in opinion.explain()
    within = aa.recompute_cash_flow(lines, ledgers, "2025-01-01", "2025-02-28")
    assert aa.second_opinion(within, lines, ledgers).compared_everything


@pytest.mark.hledger
def test_entries_with_several_cash_lines_and_categories():
    """A split paid from two accounts, a transfer with a fee, and an entry without cash."""
    lines, ledgers = small_books(
        [("bank", -500, 0), ("card", -200, 0), ("rent", 600, 0), ("sales", 100, 0)],
        [("bank", -500, 0), ("bank", -500, 0), ("card", 990, 0), ("rent", 10, 0)],
        [("rent", 70, 0), ("sales", -70, 0)],
        [("bank", -5, 0), ("bank", 5, 0), ("rent", 9, 0), ("sales", -9, 0)],
    )
    report = aa.recompute_cash_flow(lines, ledgers, "2025-01-01", "2025-01-31")
    opinion = aa.second_opinion(report, lines, ledgers)
    assert opinion.agrees
    flows = opinion.frame[opinion.frame["what"] == "net_cash_flow"].set_index("ledger_id")["hledger"]
    assert dict(flows) == {"rent": -6.19, "sales": -0.91}


@pytest.mark.hledger
def test_books_without_cash_have_no_figures():
    """Without a cash ledger there is nothing to compare."""
    lines, ledgers = small_books([("rent", 70, 0), ("sales", -70, 0)])
    ledgers["report_cash_flow"] = False
    report = aa.recompute_cash_flow(lines, ledgers, "2025-01-01", "2025-01-31")
    opinion = aa.second_opinion(report, lines, ledgers)
    assert opinion.agrees
    assert opinion.frame.empty


@pytest.mark.hledger
def test_json_has_exact_amounts(demo, february):
    """JSON has the figures as text."""
    content = json.loads(aa.second_opinion(february, demo[1], demo[0]).to_json())
    assert (content["agrees"], content["compared_everything"]) == (True, True)
    assert content["version"].startswith("hledger ")
    assert {one["report"] == one["hledger"] for one in content["figures"]} == {True}
    assert all(isinstance(one["hledger"], str) for one in content["figures"])


@pytest.mark.hledger
def test_local_books_are_enough(demo_books):
    """Local books state their first day, so starting balances count, and the age of the books is noted."""
    books = aa.connect(books=demo_books)
    opinion = aa.second_opinion(aa.load_cash_flow_report(books, "2025-02-01", "2025-03-31"), books)
    assert opinion.agrees
    assert opinion.compared_everything
    assert any(note.startswith("Local books, version 0") for note in opinion.notes)


@pytest.mark.hledger
def test_settings_of_the_user_change_nothing(demo, february, tmp_path, monkeypatch):
    """A journal that LEDGER_FILE names and a configuration in the home folder have no effect."""
    (tmp_path / "other.journal").write_text("2025-02-02 x\n  Assets  1\n  Income\n", encoding="utf-8")
    for name in (".hledger.conf", "hledger.conf"):
        (tmp_path / name).write_text("--invert\n", encoding="utf-8")
    for name, value in (("LEDGER_FILE", tmp_path / "other.journal"), ("HOME", tmp_path), ("LC_ALL", "C")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    assert aa.second_opinion(february, demo[1], demo[0]).agrees


def test_without_hledger_the_error_says_how_to_install_it(demo, february, monkeypatch, tmp_path):
    """The message names the program and two ways to install it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"needs hledger, and it is not installed; .*apt-get install hledger"):
        aa.second_opinion(february, demo[1], demo[0])


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("hledger 1.25, linux-x86_64", "hledger failed: balance -f"),
        ("hledger 1.40.1, mac-aarch64", "hledger failed: balance --no-conf -f"),
        ("something else", "hledger failed: balance -f"),
    ],
)
def test_a_program_that_fails_is_an_error(demo, february, program, version, message):
    """What the program prints is in the message; versions that read a configuration are told to ignore it."""
    program(f"[ $1 = --version ] && echo '{version}' || {{ echo $* >&2; exit 1; }}")
    with pytest.raises(InputError, match=message):
        aa.second_opinion(february, demo[1], demo[0])


@pytest.mark.parametrize("printed", ["", "[]", '{"rows": []}', '[[["Elsewhere", "Elsewhere", 0, []]], []]'])
def test_output_that_is_not_known_is_an_error(demo, february, program, printed):
    """Nothing is guessed from what another version may print."""
    program(f"[ $1 = --version ] && echo 'hledger 9.1, linux' || echo '{printed}'")
    with pytest.raises(InputError, match=r"hledger 9.1 prints balances in a form that is not known: '"):
        aa.second_opinion(february, demo[1], demo[0])


def test_reports_by_tag_are_refused(february):
    """Tags are not in the journal."""
    tagged = dataclasses.replace(february, tag_ids=("tag_1",))
    with pytest.raises(InputError, match="filtered by tags, and hledger sums all lines"):
        aa.second_opinion(tagged, pd.DataFrame(), pd.DataFrame())
    with pytest.raises(InputError, match="report is of type"):
        aa.second_opinion(pd.DataFrame(), pd.DataFrame(), pd.DataFrame())
