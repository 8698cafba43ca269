"""Causes come first and are complete, sums are stated; as text, HTML and JSON."""

import dataclasses
import datetime as dt
import json
import random
from decimal import Decimal

import pandas as pd
import planted_books
import pytest
from long_cases import also_long
from planted_books import Line
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError
from accounting_analytics.reconciliation.compared_report import ComparedReport, compare_reports
from accounting_analytics.reconciliation.differences import Comparison, Difference

DAYS = ("2025-03-01", "2025-03-31")
CASH = ("bank", "card")
LEDGERS = planted_books.ledger_frame(CASH)


def line_frame(seed=1, count=100):
    """Line entries with transactions on the cash side: an opening, then payments and receipts of three months."""
    rng = random.Random(seed)  # noqa: S311 (reproducible books, no secret)
    start = dt.datetime(2025, 2, 1, 12, tzinfo=dt.UTC)
    entries = [(start, "bank", "opening", Decimal(5000), "Opening")]
    for number in range(count):
        moment = start + dt.timedelta(hours=rng.randrange(24 * 80))
        category = rng.choice(["rent", "meals", "tips", "sales"])
        amount = Decimal(rng.randrange(100, 99999)) / 100 * (1 if category == "sales" else -1)
        entries.append((moment, rng.choice(CASH), category, amount, f"Counterparty {number}"))
    lines, texts = [], []
    for number, (moment, cash, category, amount, text) in enumerate(entries):
        lines.append(Line(f"c{number}", cash, f"e{number}", moment, amount, text))
        lines.append(Line(f"l{number}", category, f"e{number}", moment, -amount, text))
        texts += [(f"tx{number}", text.upper()), (None, None)]
    ids, descriptions = (pd.Series(column, dtype="str") for column in zip(*texts, strict=True))
    return planted_books.line_frame(lines).assign(transaction_id=ids, transaction_description=descriptions)


LINES = line_frame()
RECOMPUTED = aa.recompute_cash_flow(aa.Books(LINES, LEDGERS, time_zone="UTC"), DAYS)


def as_reported(lines):
    """Report of other books, as if the service had sent it."""
    return dataclasses.replace(aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS), origin="loaded")


def reconciled(reported, recomputed=RECOMPUTED, lines=LINES):
    return compare_reports(reported, recomputed, lines, LEDGERS)


def causes(outcome):
    return outcome.differences[outcome.differences["role"] == "cause"]


def without_entries(lines, entry_ids):
    return lines[~lines["journal_entry_id"].isin(entry_ids)].reset_index(drop=True)


@pytest.mark.parametrize("seed", [0, *also_long(1, 2)])
def test_an_omitted_line_is_named_as_people_know_it(seed):
    line = RECOMPUTED.exact().lines.sample(1, random_state=seed).iloc[0]
    entry, ledger, account = line[["journal_entry_id", "ledger_id", "cash_flow_ledger_name"]]
    number = entry.removeprefix("e")
    outcome = reconciled(as_reported(without_entries(LINES, [entry])))
    (cause,) = causes(outcome).to_dict("records")
    path = {"rent": "Costs:Rent", "meals": "Costs:Meals", "tips": "Costs:Meals:Tips", "sales": "Sales"}[ledger]
    description = LINES.set_index("id").loc[f"c{number}", "transaction_description"]
    expected = {"what": "line", "line_id": line["line_id"], "description": description, "cash_account": account}
    expected |= {"category": path, "transaction_id": f"tx{number}"}
    assert {name: cause[name] for name in expected} == expected
    assert cause["local_date"].date() == line["datetime"].date()
    assert outcome.differences["role"].tolist() == ["cause"] + ["consequence"] * (len(outcome.differences) - 1)
    text = outcome.explain()
    day = line["datetime"]
    assert f'of {day.day} {day:%b %Y} "{description}" on {account}' in text
    assert f"{path} ({ledger}), line l{number} of entry {entry}" in text
    assert outcome.differences["explanation"].iloc[1:].eq("").all()
    assert f"amounts to {-line['amount']:,}, the gap of net cash flow." in text
    assert "nexplained" not in text
    assert "1 of them a cause" in outcome.summary()


def test_many_causes_are_all_shown():
    lines = line_frame(seed=5, count=300)
    recomputed = aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS)
    omitted = recomputed.exact().lines.head(68)
    outcome = reconciled(as_reported(without_entries(lines, omitted["journal_entry_id"])), recomputed, lines)
    text = outcome.explain()
    assert len(causes(outcome)) >= 1
    lines_named = causes(outcome)["line_id"].dropna()
    missing = causes(outcome)[causes(outcome)["what"] == "net_cash_flow"]
    assert set(omitted["line_id"]) - set(lines_named) == set(
        omitted.loc[omitted["ledger_id"].isin(missing["ledger_id"]), "line_id"]
    )
    assert all(f"line {line_id} of" in text for line_id in lines_named)
    assert outcome.differences["role"].is_monotonic_increasing  # causes come first
    assert f"sum to {-omitted['amount'].sum():,}, the gap of net cash flow." in text


@pytest.mark.parametrize("ledger_id", ["meals", *also_long("rent", "sales")])
@pytest.mark.parametrize("is_reported", [True, False])
def test_a_missing_ledger_is_one_cause(ledger_id, is_reported):
    of_ledger = RECOMPUTED.exact().lines[RECOMPUTED.exact().lines["ledger_id"] == ledger_id]
    fewer = {
        name: getattr(RECOMPUTED, name)[lambda frame: frame["ledger_id"] != ledger_id].reset_index(drop=True)
        for name in ("ledgers", "lines")
    }
    lacking = altered(RECOMPUTED, **fewer)
    reported, recomputed = (RECOMPUTED, lacking) if is_reported else (lacking, RECOMPUTED)
    lines = LINES[LINES["ledger_id"] != ledger_id] if is_reported else LINES
    outcome = reconciled(altered(reported, origin="loaded"), recomputed, lines)
    (cause,) = causes(outcome).to_dict("records")
    which = "only the report lists this ledger" if is_reported else "the report does not list this ledger"
    assert (cause["what"], cause["ledger_id"]) == ("net_cash_flow", ledger_id)
    assert cause["explanation"] == f"{which}: its {len(of_ledger)} lines sum to {of_ledger['amount'].sum():,}"


def test_a_load_with_an_unknown_ledger_names_it():
    known = LEDGERS[LEDGERS["id"] != "rent"]
    end = pd.Timestamp("2025-04-01", tz="UTC")
    of_rent = LINES[(LINES["ledger_id"] == "rent") & (LINES["datetime"] < end)]
    lines = LINES.assign(ledger_name=LINES["ledger_id"].str.title())
    sentence = f"{len(of_rent)} lines that sum to {of_rent['signed_amount'].sum():,.2f}; whether they report"
    for frame, name in ((lines, "Rent (rent)"), (LINES, "rent")):
        with pytest.raises(FrameError) as raised:
            aa.recompute_cash_flow(aa.Books(frame, known, time_zone="UTC"), DAYS)
        assert f"1 ledger of the line entries not in ledgers: {name} with {sentence}" in str(raised.value)
    with pytest.raises(FrameError) as raised:
        aa.recompute_cash_flow(aa.Books(lines, known, time_zone="UTC", opening=(DAYS[0], {})), DAYS)
    within = of_rent[of_rent["datetime"] >= pd.Timestamp(DAYS[0], tz="UTC")]
    assert f"with {len(within)} lines that sum to {within['signed_amount'].sum():,.2f}" in str(raised.value)


def test_what_no_line_explains_is_unexplained_with_its_size():
    line = RECOMPUTED.exact().lines.iloc[0]
    reported = as_reported(without_entries(LINES, [line["journal_entry_id"]]))
    position = reported.exact().ledgers.index[reported.exact().ledgers["ledger_id"] == "sales"][0]
    ledgers = reported.exact().ledgers.copy()
    ledgers.loc[position, "net_cash_flow"] += Decimal("7.50")
    text = reconciled(altered(reported, ledgers=ledgers)).explain()
    gap = Decimal("7.50") - line["amount"]
    assert f"{-line['amount']:,}; the gap of net cash flow is {gap:,}, so 7.50 of it is unexplained." in text
    assert "Unexplained: 7.50, net cash flow per ledger of Sales (sales)." in text


def test_a_recategorized_line_leaves_the_whole_as_it_is():
    line = RECOMPUTED.exact().lines[RECOMPUTED.exact().lines["ledger_id"] == "rent"].iloc[0]
    moved = LINES.assign(ledger_id=LINES["ledger_id"].mask(LINES["id"] == line["line_id"], "tips"))
    outcome = reconciled(as_reported(moved))
    assert set(causes(outcome)["line_id"]) == {line["line_id"]}
    assert "These 2 differences sum to 0.00: net cash flow as a whole agrees." in outcome.explain()


def test_a_total_that_is_not_the_sum_of_its_parts_is_a_cause():
    line = RECOMPUTED.exact().lines[RECOMPUTED.exact().lines["ledger_id"] == "rent"].iloc[0]
    reported = as_reported(without_entries(LINES, [line["journal_entry_id"]]))
    ledgers = reported.exact().ledgers.copy()
    position = ledgers.index[ledgers["ledger_id"] == "meals"][0]
    ledgers.loc[position, "total_net_cash_flow"] += Decimal(3)
    found = causes(reconciled(altered(reported, ledgers=ledgers)))
    assert set(zip(found["what"], found["ledger_id"], strict=True)) == {
        ("line", "rent"),
        ("total_net_cash_flow", "meals"),
    }


HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"


@pytest.fixture
def make_result():
    """Return a function that makes a result with some differing lines."""

    def make(count, *, name="Rent", **options):
        explanation = "the recomputed report does not contain this line"
        differences = tuple(
            Difference(
                "line", "led_1", f"le_{number}", "je_1", Decimal("1234567.89"), None, explanation, ledger_name=name
            )
            for number in range(count)
        )
        comparisons = (Comparison("starting_cash_balance", 1, 0, independent=False), Comparison("line", 90, count))
        return ComparedReport(aa.Period.of("2025-01-01", "2025-01-31", "UTC"), differences, comparisons, **options)

    return make


def test_result_without_differences_ties(make_result):
    result = make_result(0)
    assert result.ties
    assert result.frame.empty
    assert result.explain().splitlines()[0] == result.summary()
    assert (
        result.summary() == "Cash flow report, Jan 2025 (UTC): "
        "reported and recomputed cash flow agree to the last digit."
    )


def test_a_difference_as_text_html_and_json(make_result):
    result = make_result(1, notes=("The parents are unknown.",), partial=True)
    text = result.explain()
    assert text.startswith("PARTIAL: Cash flow report, Jan 2025 (UTC): 1 difference.")
    assert (
        "- cash flow lines: Rent (led_1), line le_0 of entry je_1: reported 1,234,567.89, recomputed nothing, "
        "difference 1,234,567.89: the recomputed report does not contain this line."
    ) in text
    assert "starting cash balance" in text
    assert "(supplied: proves nothing)" in text
    assert text.endswith("Note: The parents are unknown.")
    page = result._repr_html_()
    assert all(shown in page for shown in ("1 difference.", "no, supplied", "1,234,567.89"))
    content = json.loads(result.to_json())
    assert (content["ties"], content["partial"], content["end_date"]) == (False, True, "2025-01-31")
    assert content["comparisons"][1] == {"what": "line", "compared": 90, "differing": 1} | {
        "independent": True,
        "not_compared": 0,
    }
    assert (content["compared_everything"], content["hierarchy_inferred"]) == (True, False)
    (difference,) = content["differences"]
    assert (difference["reported"], difference["recomputed"]) == ("1234567.89", None)


def test_text_of_the_books_is_escaped(make_result):
    result = make_result(1, name=HOSTILE, notes=(HOSTILE,))
    assert "<img" not in result._repr_html_()
    assert "\x1b" not in result.explain()
    assert "\u202e" not in result.explain()


def test_uncompared_totals_and_lines_are_counted(make_result):
    result = dataclasses.replace(
        make_result(0),
        comparisons=(
            Comparison("line", 0, 0, not_compared=44),
            Comparison("total_net_cash_flow", 5, 0, not_compared=2),
            Comparison("ending_total_balance", 3, 0, not_compared=1),
        ),
        hierarchy_inferred=True,
    )
    assert result.ties
    assert not result.compared_everything
    assert result.summary() == (
        "Cash flow report, Jan 2025 (UTC): the figures compared agree to the last digit; lines not "
        "compared (44 of 44); totals not compared (3 of 11); hierarchy inferred."
    )
    assert "net cash flow with descendants            5       0             2" in result.explain()
    assert "<td>44</td>" in result._repr_html_()


def test_every_cause_is_shown(make_result):
    result = make_result(80)
    assert len(result.differences) == 80
    text, page = result.explain(), result._repr_html_()
    for number in range(80):
        assert f"line le_{number} of entry je_1" in text
        assert f'<td class="text short">le_{number}</td>' in page
    assert sum("of entry je_1" in one for one in json.loads(result.to_json())["explanations"]) == 80
