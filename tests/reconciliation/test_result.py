"""The result of a reconciliation as text, HTML and JSON."""

import dataclasses
import json
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.reconciliation.differences import Comparison, Difference

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
        return aa.Reconciliation(aa.Period.of("2025-01-01", "2025-01-31", "UTC"), differences, comparisons, **options)

    return make


def test_ties(make_result):
    """A result without differences ties, and its first line says so."""
    result = make_result(0)
    assert result.ties
    assert result.frame.empty
    assert result.explain().splitlines()[0] == result.summary()
    assert (
        result.summary() == "Cash flow report, 2025-01-01 to 2025-01-31 (UTC): "
        "reported and recomputed cash flow agree to the last digit."
    )


def test_explanation_of_a_difference(make_result):
    """Each difference is a line with its figure, place, amounts and explanation; notes and limits are named."""
    text = make_result(1, notes=("The parents are unknown.",), partial=True).explain()
    assert text.startswith("PARTIAL: Cash flow report, 2025-01-01 to 2025-01-31 (UTC): 1 difference.")
    assert (
        "- cash flow lines: Rent (led_1), line le_0 of entry je_1: reported 1,234,567.89, recomputed nothing, "
        "difference 1,234,567.89: the recomputed report does not contain this line."
    ) in text
    assert "starting cash balance" in text
    assert "(supplied: proves nothing)" in text
    assert text.endswith("Note: The parents are unknown.")


def test_html(make_result):
    """The HTML has the summary, what was compared, and the differences."""
    page = make_result(1)._repr_html_()
    assert "1 difference." in page
    assert "no, supplied" in page
    assert "1,234,567.89" in page


def test_json(make_result):
    """The JSON has every digit as a string, and null where a report has no such row."""
    content = json.loads(make_result(1, partial=True).to_json())
    assert (content["ties"], content["partial"], content["end_date"]) == (False, True, "2025-01-31")
    assert content["comparisons"][1] == {"what": "line", "compared": 90, "differing": 1} | {
        "independent": True,
        "not_compared": 0,
    }
    assert (content["compared_everything"], content["hierarchy_inferred"]) == (True, False)
    (difference,) = content["differences"]
    assert (difference["reported"], difference["recomputed"]) == ("1234567.89", None)


def test_text_of_the_books_is_escaped(make_result):
    """Names and notes are escaped in HTML; text has no control characters."""
    result = make_result(1, name=HOSTILE, notes=(HOSTILE,))
    assert "<img" not in result._repr_html_()
    assert "\x1b" not in result.explain()
    assert "\u202e" not in result.explain()


def test_what_was_not_compared(make_result):
    """The first line, the table and the HTML say how many totals and lines were not compared."""
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
        "Cash flow report, 2025-01-01 to 2025-01-31 (UTC): the figures compared agree to the last digit; lines not "
        "compared (44 of 44); totals not compared (3 of 11); hierarchy inferred."
    )
    assert "net cash flow with descendants            5       0             2" in result.explain()
    assert "<td>44</td>" in result._repr_html_()


def test_every_cause_is_shown(make_result):
    """The text, the page and the JSON have every cause, however many there are."""
    result = make_result(80)
    assert len(result.differences) == 80
    text, page = result.explain(), result._repr_html_()
    for number in range(80):
        assert f"line le_{number} of entry je_1" in text
        assert f'<td class="text short">le_{number}</td>' in page
    assert sum("of entry je_1" in one for one in json.loads(result.to_json())["explanations"]) == 80
