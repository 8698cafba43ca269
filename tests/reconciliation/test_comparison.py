"""Reconciling: clean books tie, every injected error is found and explained, interpretations are noted."""

import copy
import dataclasses
import datetime as dt
import pickle
import random
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_books import CASH, Line, ledger_frame, line_frame
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.schemas import Differences
from accounting_analytics.reconciliation.compared_report import compare_reports

CENT = Decimal("0.01")
CATEGORIES = ("rent", "meals", "tips", "sales", "receivable")
JANUARY, ZONE = ("2025-01-01", "2025-01-31"), "America/New_York"
CHART = ledger_frame()


def two_months_of_entries():
    """Generate two months of entries from a fixed seed: openings, payments, splits, transfers, an invoice."""
    rng = random.Random(7)  # noqa: S311 (reproducible books, no secret)
    noon = dt.datetime(2024, 12, 20, 12, tzinfo=dt.UTC)
    yield noon, {"bank": "5000", "opening": "-5000"}
    yield dt.datetime(2025, 1, 1, 15, tzinfo=dt.UTC), {"savings": "700", "opening": "-700"}
    yield dt.datetime(2025, 2, 1, 3, tzinfo=dt.UTC), {"bank": "-12.34", "tips": "12.34"}  # January in New York
    yield noon, {"receivable": "80", "sales": "-80"}
    for _ in range(60):
        moment = noon + dt.timedelta(hours=rng.randint(0, 24 * 60))
        first, second = rng.sample(CATEGORIES, 2)
        whole, part = rng.randint(200, 9000), rng.randint(1, 199)
        cash = rng.choice(CASH)
        if rng.random() < 0.15:
            yield moment, {"bank": f"{-whole}", "savings": f"{whole}"}
        elif rng.random() < 0.3:
            yield moment, {cash: f"{-whole}.00", first: f"{part}.01", second: f"{whole - part - 1}.99"}
        else:
            yield moment, {cash: f"{-whole}.55", first: f"{whole}.55"}


LINES = line_frame(
    [
        Line(f"le_{place}", ledger, f"je_{number}", moment, Decimal(amount), None)
        for place, (number, moment, ledger, amount) in enumerate(
            (number, moment, *line)
            for number, (moment, lines) in enumerate(two_months_of_entries())
            for line in lines.items()
        )
    ]
)


def recompute(line_entries=LINES, ledgers=CHART, balances=None, **options):
    """Recompute the report of January."""
    opening = None if balances is None else (JANUARY[0], balances)
    return aa.recompute_cash_flow(aa.Books(line_entries, ledgers, JANUARY, time_zone=ZONE, opening=opening), **options)


def loaded(report, **changes):
    """Report as if the service had sent it, with other fields."""
    return altered(report, **{"origin": "loaded", **changes})


RECOMPUTED = recompute()
REPORT = loaded(RECOMPUTED)
EXACT = REPORT.exact()
ANYWHERE = st.integers(0, 10**6)
SLOW = settings.get_profile("slow")
FEW = settings(SLOW, max_examples=SLOW.max_examples // 2)  # each example is a reconciliation or two


def changed(report, table, row, column, value):
    """Report with one cell of one table changed."""
    frame = getattr(report.exact(), table).copy()
    position = row % len(frame) if isinstance(row, int) else int(frame.index[frame["ledger_id"] == row][0])
    old = frame.loc[position, column]
    frame.loc[position, column] = value(old) if callable(value) else value
    return altered(report, **{table: frame})


def without(report, table, row):
    frame = getattr(report.exact(), table)
    return altered(report, **{table: frame.drop(index=row % len(frame)).reset_index(drop=True)})


def added(report, table, **cells):
    """Report with one more row of a table, its cells changed."""
    frame = getattr(report.exact(), table)
    row = frame.head(1).assign(**cells).astype(frame.dtypes.to_dict())
    return altered(report, **{table: pd.concat([frame, row], ignore_index=True)})


def without_rows_of_parents(report):
    """Report that does not list ledgers without lines of their own."""
    rows = report.ledgers["ledger_id"].isin(report.lines["ledger_id"])
    return altered(report, ledgers=report.ledgers[rows].reset_index(drop=True))


def reconciled(reported, **options):
    """Reconcile with RECOMPUTED; the differences are a valid table, and every kind of them has a text."""
    outcome = compare_reports(reported, RECOMPUTED, **options)
    Differences.checked(outcome.differences)
    assert outcome.ties == ("agree" in outcome.explain().splitlines()[0])
    return outcome


def differences_of(outcome):
    """Differences as {(what, ledger id, line id): (difference, explanation)}."""
    return {(row.what, row.ledger_id, row.line_id): (row.amount, row.explanation) for row in outcome.rows}


def has_note(outcome, text):
    return any(text in note for note in outcome.notes)


@pytest.mark.parametrize(
    "line_entries", [None, LINES, pl.from_pandas(LINES[["id", "ledger_id", "journal_entry_id", "datetime"]])]
)
def test_clean_books_tie(line_entries):
    shuffled = {
        name: getattr(REPORT, name).sample(frac=1, random_state=3).reset_index(drop=True)
        for name in ("ledgers", "lines", "starting_balances", "ending_balances")
    }
    for reported in (REPORT, altered(REPORT, **shuffled)):
        outcome = reconciled(reported, line_entries=line_entries)
        assert outcome.ties
        assert outcome.compared_everything
        assert outcome.differences.empty
        assert all(comparison.compared and not comparison.differing for comparison in outcome.comparisons)
        assert all(comparison.independent for comparison in outcome.comparisons)
        assert {comparison.what: comparison.compared for comparison in outcome.comparisons}["line"] == len(EXACT.lines)


def local_time(moment):
    return f"{moment.tz_convert(ZONE):%Y-%m-%d %H:%M:%S} ({ZONE})"


@FEW
@given(ANYWHERE, st.sampled_from([CENT, -CENT, Decimal(10)]), st.sampled_from([-1, 1]).map(dt.timedelta))
def test_a_wrong_cell_of_a_line_is_explained(row, off, days):
    line = EXACT.lines.iloc[row % len(EXACT.lines)]
    at, entry = line["datetime"], line["journal_entry_id"]
    dated = f"same amount, but dated {local_time(at + days)} in the report and {local_time(at)} in the line entries"
    for column, value, difference, explanation in (
        ("amount", line["amount"] + off, off, "the amount differs"),
        ("amount", -line["amount"], -2 * line["amount"], "the sign is reversed"),
        ("datetime", at + days, 0, dated),
        ("journal_entry_id", "je_wrong", 0, f"reported with journal entry je_wrong, recomputed with {entry}"),
    ):
        outcome = reconciled(changed(REPORT, "lines", row, column, value))
        assert differences_of(outcome) == {("line", line["ledger_id"], line["line_id"]): (difference, explanation)}


@FEW
@given(ANYWHERE, st.sampled_from([CENT, -CENT]))
def test_a_cent_on_a_line_and_its_ledger_is_found(row, off):
    line = EXACT.lines.iloc[row % len(EXACT.lines)]
    reported = changed(REPORT, "lines", row, "amount", lambda amount: amount + off)
    reported = changed(reported, "ledgers", line["ledger_id"], "net_cash_flow", lambda amount: amount + off)
    differences = differences_of(reconciled(reported))
    assert {key[0]: difference for key, (difference, _) in differences.items()} == {
        "line": off,
        "net_cash_flow": off,
        "identity": off,
    }
    assert differences["net_cash_flow", line["ledger_id"], None][1] == ""


@pytest.mark.parametrize(
    ("table", "column", "what"),
    [
        ("ledgers", "net_cash_flow", "net_cash_flow"),
        ("ledgers", "total_net_cash_flow", "total_net_cash_flow"),
        ("starting_balances", "cash_balance", "starting_balance"),
        ("ending_balances", "total_cash_balance", "ending_total_balance"),
        pytest.param("starting_balances", "total_cash_balance", "starting_total_balance", marks=pytest.mark.long),
        pytest.param("ending_balances", "cash_balance", "ending_balance", marks=pytest.mark.long),
    ],
)
@FEW
@given(row=ANYWHERE, off=st.sampled_from([CENT, -CENT]))
def test_a_cent_on_any_figure_by_ledger_is_found(table, column, what, row, off):
    differences = differences_of(reconciled(changed(REPORT, table, row, column, lambda amount: amount + off)))
    frame = getattr(EXACT, table)
    ledger_id = frame.loc[row % len(frame), "ledger_id"]
    assert differences[what, ledger_id, None][0] == off
    assert set(differences) <= {(what, ledger_id, None), ("identity", None, None)}
    assert (("identity", None, None) in differences) == (what == "net_cash_flow")


@pytest.mark.parametrize("what", ["starting_cash_balance", "ending_cash_balance"])
def test_a_cent_on_the_cash_totals_is_found(what):
    outcome = reconciled(altered(REPORT, **{what: getattr(REPORT.exact(), what) + CENT}))
    differences = differences_of(outcome)
    assert differences[what, None, None][0] == CENT
    assert "the report's own balances sum to" in differences[what, None, None][1]
    assert set(differences) == {(what, None, None), ("identity", None, None)}


@FEW
@given(ANYWHERE)
def test_a_missing_line_is_found(row):
    line = EXACT.lines.iloc[row % len(EXACT.lines)]
    differences = differences_of(reconciled(without(REPORT, "lines", row)))
    ((key, (difference, explanation)),) = differences.items()
    assert key == ("line", line["ledger_id"], line["line_id"])
    assert difference == -line["amount"]
    assert "the report omits it" in explanation


@FEW
@given(ANYWHERE, st.sampled_from(CATEGORIES))
def test_a_line_under_another_ledger_is_explained_as_recategorized(row, other):
    line = EXACT.lines.iloc[row % len(EXACT.lines)]
    if other == line["ledger_id"]:
        return
    reported = changed(REPORT, "lines", row, "ledger_id", other)
    reported = changed(reported, "ledgers", line["ledger_id"], "net_cash_flow", lambda net: net - line["amount"])
    reported = changed(reported, "ledgers", other, "net_cash_flow", lambda net: net + line["amount"])
    differences = differences_of(reconciled(reported))
    assert reported.identity_gap == 0
    here, there = ("line", line["ledger_id"], line["line_id"]), ("line", other, line["line_id"])
    assert differences[here][0] == -line["amount"]
    assert differences[there][0] == line["amount"]
    moved_from, moved_to = (f"under {one.title()} ({one}); " for one in (line["ledger_id"], other))
    assert differences[here][1].startswith(f"recategorized: recomputed here, reported {moved_to}")
    assert differences[there][1].startswith(f"recategorized: reported here, recomputed {moved_from}")
    assert {key[1] for key in differences if key[0] == "net_cash_flow"} == {line["ledger_id"], other}


def test_swapped_nets_pass_the_identity_but_are_found():
    nets = dict(zip(EXACT.ledgers["ledger_id"], EXACT.ledgers["net_cash_flow"], strict=True))
    reported = changed(REPORT, "ledgers", "rent", "net_cash_flow", nets["tips"])
    reported = changed(reported, "ledgers", "tips", "net_cash_flow", nets["rent"])
    differences = differences_of(reconciled(reported))
    assert {key[:2] for key in differences} == {("net_cash_flow", "rent"), ("net_cash_flow", "tips")}
    assert all("not the sum of its own lines" in explanation for _, explanation in differences.values())


@pytest.mark.parametrize(
    ("cells", "line_entries", "explanation"),
    [
        ({"line_id": "le_new"}, None, "the recomputed report does not contain this line"),
        ({"line_id": "le_new"}, LINES, "the given line entries do not contain this line"),
        ({"line_id": "le_7"}, LINES, "its entry has no line on a ledger that reports cash flow"),
        ({"line_id": "le_1", "ledger_id": "opening"}, LINES, "dated 2024-12-20 07:00:00 (America/New_York), outside"),
        ({"line_id": "le_1", "datetime": pd.Timestamp("2025-02-01T05:00Z")}, None, "dated 2025-02-01 00:00:00"),
        ({"line_id": "le_new", "ledger_id": "savings"}, None, "counts this ledger as cash, the report does not"),
    ],
)
def test_lines_only_in_the_report_are_explained(cells, line_entries, explanation):
    lines = LINES.copy()
    lines.loc[lines["journal_entry_id"] == "je_3", "datetime"] = pd.Timestamp("2025-01-10T12:00Z")
    outcome = reconciled(added(REPORT, "lines", **cells), line_entries=None if line_entries is None else lines)
    ((key, (_, why)),) = differences_of(outcome).items()
    assert key[0] == "line"
    assert explanation in why


def test_a_missing_line_near_midnight_names_its_utc_day():
    lines = EXACT.lines
    (row,) = lines.index[lines["journal_entry_id"] == "je_2"]
    ((_, explanation),) = differences_of(reconciled(without(REPORT, "lines", int(row)))).values()
    assert "dated 2025-01-31 22:00:00 (America/New_York), which is another day in UTC" in explanation


def test_ledgers_that_only_the_report_lists_are_differences():
    reported = added(REPORT, "ledgers", ledger_id="ghost", net_cash_flow=Decimal(5), total_net_cash_flow=Decimal(5))
    reported = added(
        reported, "ledgers", ledger_id="shadow", net_cash_flow=-Decimal(5), total_net_cash_flow=-Decimal(5)
    )
    assert {key: difference for key, (difference, _) in differences_of(reconciled(reported)).items()} == {
        (what, ledger_id, None): amount
        for what in ("net_cash_flow", "total_net_cash_flow")
        for ledger_id, amount in (("ghost", 5), ("shadow", -5))
    }
    only_total = added(REPORT, "ledgers", ledger_id="ghost", net_cash_flow=Decimal(0), total_net_cash_flow=Decimal(5))
    assert differences_of(reconciled(only_total)).keys() == {("total_net_cash_flow", "ghost", None)}
    ghost = {"ledger_id": "ghost", "cash_balance": Decimal(5), "total_cash_balance": Decimal(5)}
    balances = added(added(REPORT, "starting_balances", **ghost), "ending_balances", **ghost)
    assert differences_of(reconciled(balances)).keys() == {
        (f"{side}_{what}", "ghost", None) for side in ("starting", "ending") for what in ("balance", "total_balance")
    }


def without_card():
    """Recompute from entries that do not touch the card, which is listed at zero."""
    lines = LINES[LINES["ledger_id"] != "card"]
    whole = lines.groupby("journal_entry_id")["signed_amount"].transform("sum") == 0
    return recompute(lines[whole])


def test_missing_zero_rows_are_tolerated():
    report = without_card()
    position = int(report.ending_balances.index[report.ending_balances["ledger_id"] == "card"][0])
    shorter = without(without(report, "ending_balances", position), "starting_balances", position)
    fewer, more = compare_reports(loaded(shorter), report), compare_reports(loaded(report), shorter)
    assert fewer.ties
    assert more.ties
    assert "Ledgers that only the given chart of accounts counts as cash: card." in fewer.notes
    assert "Ledgers that only the report counts as cash: card." in more.notes


@pytest.mark.parametrize(
    ("table", "what", "explanation"),
    [
        ("ledgers", "net_cash_flow", "only the report lists this ledger, with 0.00 and no lines"),
        ("starting_balances", "starting_balance", "the report counts this ledger as cash, the given chart of"),
        ("ending_balances", "ending_balance", "the report counts this ledger as cash, the given chart of"),
    ],
)
def test_another_ledger_at_zero_is_a_difference(table, what, explanation):
    recomputed = without_card()
    row = "costs" if table == "ledgers" else "card"  # without lines of its own
    outcome = compare_reports(loaded(changed(recomputed, table, row, "ledger_id", "other")), recomputed)
    named = outcome.differences[outcome.differences["ledger_id"] == "other"]
    (found,) = named[named["what"] == what].itertuples()
    assert (found.role, found.reported, found.difference) == ("cause", Decimal(0), Decimal(0))
    assert pd.isna(found.recomputed)
    assert found.explanation.startswith(explanation)
    assert "Unexplained" not in outcome.explain()


def test_unlisted_parents_are_accepted_only_for_the_whole_report():
    below_loan = CHART["parent_id"].mask(CHART["id"] == "receivable", "loan")
    recomputed = recompute(ledgers=CHART.assign(parent_id=below_loan))
    outcome = compare_reports(loaded(without_rows_of_parents(recomputed)), recomputed)
    assert outcome.ties
    assert has_note(outcome, "does not list ledgers without lines of their own, such as parents: costs, loan.")
    fewer = recomputed.ledgers[recomputed.ledgers["ledger_id"] != "loan"].reset_index(drop=True)
    differences = differences_of(compare_reports(loaded(recomputed, ledgers=fewer), recomputed))
    assert differences.keys() == {("total_net_cash_flow", "loan", None)}


def test_lines_that_are_not_compared_are_counted():
    count, totals = len(EXACT.lines), recompute(lines=False)
    without_lines = "recomputed without lines (lines=False)"
    for reported, recomputed, note in (
        (loaded(REPORT, lines=EXACT.lines.head(0)), RECOMPUTED, f"{count} recomputed lines could not be compared"),
        (REPORT, totals, without_lines),
        (without_rows_of_parents(REPORT), totals, without_lines),
    ):
        outcome = compare_reports(reported, recomputed, LINES)
        assert outcome.ties
        assert not outcome.compared_everything
        assert f"agree to the last digit; lines not compared ({count} of {count})" in outcome.summary()
        assert has_note(outcome, note)
        wrong = compare_reports(
            changed(reported, "ledgers", "rent", "net_cash_flow", lambda net: net + CENT), recomputed
        )
        assert differences_of(wrong)["net_cash_flow", "rent", None] == (
            CENT,
            "no lines were compared that could explain it",
        )


def with_cash_side_ids(report):
    """Report whose line ids are those of the first cash line of each entry; a split then has one id twice."""
    cash = LINES[LINES["ledger_id"].isin(CASH)].drop_duplicates("journal_entry_id")
    ids = dict(zip(cash["journal_entry_id"], cash["id"], strict=True))
    return altered(report, lines=report.lines.assign(line_id=report.lines["journal_entry_id"].map(ids)))


def test_cash_side_line_ids_are_accepted():
    reported = with_cash_side_ids(REPORT)
    assert reported.lines["line_id"].duplicated().any()
    for line_entries in (None, LINES):
        outcome = reconciled(reported, line_entries=line_entries)
        assert outcome.ties
        assert has_note(outcome, "interpreted as ids of the cash side")


@FEW
@given(ANYWHERE)
def test_errors_are_found_with_cash_side_ids_too(row):
    outcome = reconciled(changed(with_cash_side_ids(REPORT), "lines", row, "amount", lambda amount: amount + CENT))
    ((key, (difference, _)),) = differences_of(outcome).items()
    assert key[1:] == tuple(EXACT.lines.loc[row % len(EXACT.lines), ["ledger_id", "line_id"]])
    assert difference == CENT


def test_foreign_line_ids_are_differences():
    foreign = altered(REPORT, lines=EXACT.lines.assign(line_id=[f"x_{n}" for n in range(len(EXACT.lines))]))
    outcome = reconciled(foreign, line_entries=LINES)
    assert len(outcome.differences) == 2 * len(EXACT.lines)
    assert all("the same entry, ledger and amount" in text for text in outcome.differences["explanation"])


def test_one_wrong_line_id_is_found():
    differences = differences_of(reconciled(changed(REPORT, "lines", 3, "line_id", "le_wrong")))
    assert [difference for difference, _ in differences.values()].count(EXACT.lines.loc[3, "amount"]) == 1
    assert {key[2] for key in differences} == {"le_wrong", EXACT.lines.loc[3, "line_id"]}


@FEW
@given(ANYWHERE)
def test_a_line_listed_twice_but_counted_once_is_accepted(row):
    row %= len(EXACT.lines)
    twice = altered(REPORT, lines=pd.concat([EXACT.lines, EXACT.lines.iloc[[row]]], ignore_index=True))
    outcome = reconciled(twice)
    assert outcome.ties
    assert has_note(outcome, "listed more than once")
    line = EXACT.lines.loc[row]
    counted = changed(twice, "ledgers", line["ledger_id"], "net_cash_flow", lambda net: net + line["amount"])
    assert differences_of(reconciled(counted))["line", line["ledger_id"], line["line_id"]] == (
        line["amount"],
        "the report repeats the line",
    )


def test_a_line_split_into_rows_is_accepted():
    lines = pd.concat([EXACT.lines, EXACT.lines.iloc[[5]]], ignore_index=True)
    lines.loc[5, "amount"] += CENT
    lines.loc[len(lines) - 1, "amount"] = -CENT
    outcome = reconciled(altered(REPORT, lines=lines))
    assert outcome.ties
    assert has_note(outcome, "their amounts are summed")


@pytest.mark.parametrize("cash", [("bank", "card"), (*CASH, "receivable")])
def test_another_set_of_cash_ledgers_is_explained(cash):
    outcome = reconciled(loaded(recompute(ledgers=ledger_frame(cash))), line_entries=LINES)
    (ledger_id,) = set(cash) ^ set(CASH)
    assert any(note.endswith(f"as cash: {ledger_id}.") for note in outcome.notes)
    differences = outcome.differences[outcome.differences["ledger_id"] == ledger_id]
    assert differences["explanation"].str.contains("as cash").any()
    assert (differences.loc[differences["what"] == "line", "explanation"].str.contains("as cash")).all()


def test_other_cash_names_and_fractions_of_a_second_are_notes():
    moved = changed(REPORT, "lines", 1, "datetime", lambda at: at + pd.Timedelta(seconds=1))
    assert len(reconciled(moved).differences) == 1
    named = changed(REPORT, "lines", 0, "cash_flow_ledger_name", "Other")
    outcome = reconciled(changed(named, "lines", 1, "datetime", lambda at: at + pd.Timedelta(milliseconds=300)))
    assert outcome.ties
    assert has_note(outcome, "a different cash ledger than recomputed")
    assert has_note(outcome, "less than a second")


def test_anchored_balances_prove_nothing():
    anchored = recompute(balances=REPORT.starting_balances)
    outcome = compare_reports(REPORT, anchored)
    assert outcome.ties
    assert {comparison.what for comparison in outcome.comparisons if not comparison.independent} == {
        "starting_cash_balance",
        "starting_balance",
        "starting_total_balance",
    }
    wrong = compare_reports(changed(REPORT, "starting_balances", "bank", "cash_balance", Decimal(1)), anchored)
    assert differences_of(wrong)["starting_balance", "bank", None][1] == "not the balance that was supplied"


def recomputed_without_history():
    """Recompute from lines of the period only."""
    return recompute(LINES[LINES["datetime"] >= pd.Timestamp(JANUARY[0], tz=ZONE)])


def test_missing_history_is_named_first():
    recomputed = recomputed_without_history()
    advice = "pass opening=reported.starting_balances to Books"
    assert advice in recomputed.notes[0]
    outcome = compare_reports(REPORT, recomputed)
    assert outcome.without_history
    count = len(outcome.differences)
    assert count > 10
    assert "load the books since their first entry, or pass opening=report, the earliest" in outcome.summary()
    assert outcome.explain().splitlines()[0] == outcome.summary()
    assert f"- {count} balances differ only by the missing history" in outcome.explain()
    assert outcome.explain().count("reported ") == 0
    assert "the earliest report, to Books" in outcome._repr_html_()
    wrong = compare_reports(
        changed(REPORT, "ending_balances", "bank", "cash_balance", lambda balance: balance + CENT), recomputed
    )
    assert f"- {count - 1} balances differ only by" in wrong.explain()
    assert "ending balance per cash ledger: Bank (bank): reported" in wrong.explain()
    assert len(wrong.differences) == count


def test_history_is_not_missing():
    supplied = recompute(balances={"bank": Decimal(0)})
    without = recomputed_without_history()
    for reported, recomputed in (
        (changed(REPORT, "starting_balances", "bank", "cash_balance", CENT), RECOMPUTED),
        (REPORT, supplied),
        (loaded(without), without),
    ):
        assert not compare_reports(reported, recomputed).without_history


def test_unknown_parents_leave_totals_uncompared():
    flat = recompute(ledgers=ledger_frame(parent_id=None, parent_known=False))
    outcome = compare_reports(REPORT, flat)
    assert outcome.ties
    assert not outcome.compared_everything
    compared = {comparison.what: comparison.compared for comparison in outcome.comparisons}
    assert compared["total_net_cash_flow"] == compared["ending_total_balance"] == 0
    assert compared["net_cash_flow"] > 0
    assert sum("parents of some ledgers are not known" in note for note in outcome.notes) == 3
    count = len(REPORT.ledgers) + 2 * len(CASH)
    assert outcome.not_compared == (f"totals not compared ({count} of {count})",)
    assert "the figures compared agree to the last digit; totals not compared (" in outcome.summary()


def recomputed_without_parents(*ledger_ids):
    """Recompute with a chart that has types, but does not know the parents of some ledgers."""
    hidden = CHART["id"].isin(ledger_ids)
    types = {"sales": "revenue", "opening": "equity", "card": "liability", "loan": "liability"}
    types |= dict.fromkeys(("bank", "savings", "receivable"), "asset")
    columns = {"type": CHART["id"].map(types).fillna("expense"), "parent_known": ~hidden}
    return recompute(ledgers=CHART.assign(parent_id=CHART["parent_id"].mask(hidden), **columns))


def test_totals_under_an_inferred_root_are_compared():
    outcome = compare_reports(REPORT, recomputed_without_parents("costs", "bank"))
    assert outcome.ties
    assert outcome.hierarchy_inferred
    assert outcome.explain().splitlines()[0].endswith("agree to the last digit; hierarchy inferred.")
    compared = {one.what: (one.compared, one.not_compared) for one in outcome.comparisons}
    assert compared["total_net_cash_flow"] == (len(REPORT.ledgers), 0)
    assert not compare_reports(REPORT, RECOMPUTED).hierarchy_inferred


@FEW
@given(ANYWHERE)
def test_wrong_totals_name_the_hierarchy(row):
    reported = changed(REPORT, "ledgers", row, "total_net_cash_flow", lambda total: total + 1000)
    for recomputed, cause in (
        (RECOMPUTED, "the cause is the hierarchy, the report sums other descendants"),
        (recomputed_without_parents("costs", "bank"), "the cause is the hierarchy, which is inferred"),
    ):
        outcome = compare_reports(reported, recomputed)
        ((difference, explanation),) = differences_of(outcome).values()
        assert difference == 1000
        assert cause in explanation
        assert "1 difference, all in totals: the cause is the hierarchy" in outcome.summary()


def test_ancestors_that_only_the_report_knows_are_not_compared():
    total = REPORT.ledgers.set_index("ledger_id").loc["costs", "total_net_cash_flow"]
    above = {"ledger_id": "all", "name": "All", "net_cash_flow": Decimal(0), "total_net_cash_flow": total}
    reported = added(REPORT, "ledgers", **above)
    outcome = compare_reports(reported, recomputed_without_parents("costs"))
    assert outcome.ties
    assert outcome.not_compared == (f"totals not compared (1 of {len(reported.ledgers) + 2 * len(CASH)})",)
    assert differences_of(compare_reports(reported, RECOMPUTED)).keys() == {("total_net_cash_flow", "all", None)}


def test_totals_that_the_report_does_not_state_are_counted():
    outcome = compare_reports(changed(REPORT, "ledgers", "costs", "total_net_cash_flow", None), RECOMPUTED)
    assert not outcome.compared_everything
    assert has_note(
        outcome, f"with descendants: 1 of {len(REPORT.ledgers)} not compared, because the report does not state them"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": aa.Period.of("2025-01-01", "2025-01-30", ZONE)}, "recompute for the same days"),
        ({"period": aa.Period.of(*JANUARY, "UTC")}, "the reported days are those of UTC"),
        ({"tag_ids": ("tag_1",)}, "filtered by tags"),
    ],
)
def test_other_days_or_tags_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        compare_reports(dataclasses.replace(REPORT, **change), RECOMPUTED)
    if "tag_ids" in change:
        with pytest.raises(InputError, match=message):
            compare_reports(REPORT, dataclasses.replace(RECOMPUTED, **change))


def repickled(report):
    return pickle.loads(pickle.dumps(report))  # noqa: S301 (our own)


def test_a_recomputed_report_is_no_report_of_the_service():
    """It would be compared with itself; copies keep their origin, and one whose origin is not known is compared."""
    books = aa.Books(LINES, CHART, JANUARY, time_zone=ZONE)
    for copied in (altered, copy.deepcopy, repickled):
        with pytest.raises(
            InputError, match=r"a report was recomputed from line entries.*pass those that load_cash_flow"
        ):
            books.with_reports([copied(RECOMPUTED)])
        assert aa.reconcile(books.with_reports([copied(REPORT)])).ties
    unknown = dataclasses.replace(REPORT, origin=None)
    assert aa.reconcile(books.with_reports([unknown])).ties


def test_another_scale_is_refused():
    lines = LINES.astype({"signed_amount": pd.ArrowDtype(pa.decimal128(38, 3))})
    lines.attrs["scale"] = 3
    with pytest.raises(InputError, match="reported amounts have 2 fraction digits, the recomputed ones 3"):
        compare_reports(REPORT, recompute(lines))


def test_another_name_of_the_same_zone_is_accepted():
    outcome = reconciled(dataclasses.replace(REPORT, period=aa.Period.of(*JANUARY, "US/Eastern")))
    assert outcome.ties
    assert has_note(outcome, "have the same days")


@pytest.mark.parametrize("line_entries", [5, LINES[["id"]]])
def test_line_entries_must_be_a_frame(line_entries):
    with pytest.raises(FrameError, match="line_entries"):
        compare_reports(without(added(REPORT, "lines", line_id="le_new"), "lines", 0), RECOMPUTED, line_entries)


def test_amounts_of_any_size_are_compared_exactly():
    huge = Decimal("12345678901234567890.91")
    moment = pd.Timestamp("2025-01-10T12:00Z")
    both = (("le_1", "bank", -huge), ("le_2", "rent", huge))
    lines = line_frame(
        [Line(line_id, ledger, "je_1", moment, amount, None) for line_id, ledger, amount in both], exact=True
    )
    recomputed = recompute(lines)
    reported = changed(loaded(recomputed), "lines", 0, "amount", CENT - huge)
    outcome = compare_reports(reported, recomputed, lines, CHART)
    assert [row.amount for row in outcome.rows] == [CENT]
    assert f"reported {CENT - huge:,}, recomputed {-huge:,}, difference 0.01" in outcome.explain()
    assert compare_reports(loaded(recomputed), recomputed, lines).ties


def test_errors_in_many_lines_are_all_found():
    count = 20_000
    lines = pd.concat([EXACT.lines] * (count // len(EXACT.lines) + 1), ignore_index=True).head(count)
    lines = lines.assign(line_id=[f"le_{number}" for number in range(count)])
    ours = altered(RECOMPUTED, lines=lines)
    injected = [3, 77, 4000, 9999, 15_000, 19_998, 19_999]
    wrong = lines.copy()
    for row in injected:
        wrong.loc[row, "amount"] += CENT
    outcome = compare_reports(altered(REPORT, lines=wrong), ours)
    assert sorted(outcome.differences["line_id"]) == sorted(f"le_{number}" for number in injected)
    assert {row.amount for row in outcome.rows} == {CENT}
