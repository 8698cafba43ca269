"""Statements by tags: columns that sum to the statement, lines that have all of some tags, and what is refused."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal

import hypothesis
import pytest
from hypothesis import strategies as st
from payee_books import CATEGORIES, LEDGERS, BookEntry, entries_of, frame_of, paid

import accounting_analytics as aa

DAYS = ("2025-02-01", "2025-03-31")
GROUPS = {"a": "shop", "b": "shop", "c": "shop", "x": "year"}


def tagged(frame, tags):
    """Return lines with the tags of each, their names, and their groups."""
    lists = {
        "tag_ids": ["|".join(one) for one in tags],
        "tag_names": ["|".join(f"Tag {tag}" for tag in one) for one in tags],
        "tag_group_ids": ["|".join(GROUPS[tag] for tag in one) for one in tags],
    }
    return frame.assign(**lists).astype(dict.fromkeys(lists, "str"))


@st.composite
def tagged_books(draw):
    """Draw entries, the frame of their lines, and the tags of each line."""
    opening = BookEntry(dt.date(2024, 12, 1), "OPENING", (("loan", -100), ("bank", 100)), entry_id="opening")
    entries = [opening, *draw(entries_of(size=12))]
    frame = frame_of(entries)
    of_line = st.lists(st.sampled_from(sorted(GROUPS)), unique=True, max_size=3).map(sorted)
    tags = draw(st.lists(of_line, min_size=len(frame), max_size=len(frame)))
    return entries, tagged(frame, tags), tags


def naive_units(entries, tags, kind, keep):
    """Units by category of the lines of the days whose tags are kept, positive as the statement has them."""
    found, number = defaultdict(int), 0
    for entry in entries:
        touches = any(ledger in {"bank", "card"} for ledger, _ in entry.units)
        for ledger, units in entry.units:
            of_line, number = tags[number], number + 1
            is_counted = ledger in ({"rent", "wages", "sales"} if kind == "income" else CATEGORIES)
            if is_counted and (kind == "income" or touches) and entry.day >= dt.date(2025, 2, 1) and keep(of_line):
                found[ledger] -= units
    return {ledger: units for ledger, units in found.items() if units}


def own_units(statement, column):
    """Units by category of a column, cash and income positive."""
    sign = {"rent": -1, "wages": -1} if statement.title == "Income statement" else {}
    rows = [row for row in statement.rows if row.kind == "ledger" and not row.children]
    amounts = {row.key: round(statement.value(row.key, column) * 100) for row in rows}
    return {key: sign.get(key, 1) * units for key, units in amounts.items() if units}


MAKERS = {"cash": aa.cash_flow_statement, "income": aa.income_statement}


@pytest.mark.parametrize("kind", list(MAKERS))
@hypothesis.settings.get_profile("slow")
@hypothesis.given(drawn=tagged_books())
def test_columns_of_tags_sum_to_the_statement(kind, drawn):
    entries, lines, tags = drawn
    shop = [{tag for tag in one if GROUPS[tag] == "shop"} for one in tags]
    touching = {entry.entry_id for entry in entries if any(ledger in {"bank", "card"} for ledger, _ in entry.units)}
    ledgers = {"rent", "wages", "sales"} if kind == "income" else set(CATEGORIES)
    is_counted = lines["ledger_id"].isin(ledgers) & (lines["datetime"] >= "2025-02-01")
    if kind == "cash":
        is_counted &= lines["journal_entry_id"].isin(touching)
    hypothesis.assume(any(one for one, counts in zip(shop, is_counted, strict=True) if counts))
    books = aa.Books(lines, LEDGERS, DAYS, time_zone="UTC")
    statement = MAKERS[kind](books, columns="tag", tag_group="shop")
    whole = MAKERS[kind](books, columns=[DAYS])
    total, (all_lines,) = statement.columns[-1], whole.columns
    assert own_units(statement, "total") == own_units(whole, all_lines.key)
    for column in statement.columns[:-1]:
        name = column.key.removeprefix("tag:")
        wanted = {
            "several": lambda one: sum(GROUPS[tag] == "shop" for tag in one) > 1,
            "without": lambda one: not any(GROUPS[tag] == "shop" for tag in one),
        }.get(name, lambda one, name=name: [tag for tag in one if GROUPS[tag] == "shop"] == [name])
        assert own_units(statement, column.key) == naive_units(entries, tags, kind, wanted)
    for row in (row for row in statement.rows if row.kind not in {"heading", "percent"}):
        parts = [statement[row.key, column.key] for column in statement.columns]
        assert sum((one.exact() for one in parts[:-1]), Decimal(0)) == parts[-1].exact()
        for one in parts:
            amounts = one.entries["figure_amount"] if one.is_additive else []
            assert not one.is_additive or round(sum(amounts) * 100) == one.units
    assert total.label == "Total"
    assert statement._repr_html_()


@pytest.mark.parametrize("kind", list(MAKERS))
@hypothesis.settings.get_profile("slow")
@hypothesis.given(drawn=tagged_books(), asked=st.lists(st.sampled_from(sorted(GROUPS)), min_size=1, unique=True))
def test_lines_with_all_tags_are_counted(kind, drawn, asked):
    entries, lines, tags = drawn
    hypothesis.assume({tag for one in tags for tag in one} >= set(asked))
    books = aa.Books(lines, LEDGERS, time_zone="UTC")
    statement = MAKERS[kind](books, DAYS, columns=[DAYS], tag_ids=asked)
    (column,) = statement.columns
    assert own_units(statement, column.key) == naive_units(entries, tags, kind, lambda one: set(asked) <= set(one))
    march = MAKERS[kind](books, "2025-03", compare="prior", tag_ids=asked)
    february = MAKERS[kind](books, "2025-02", tag_ids=asked)
    assert own_units(march, "2025-03 prior") == own_units(february, "2025-02")
    assert "ending_cash_balance" not in statement.figures.layout.by_key
    assert any("Only lines with all these tags are counted" in note for note in statement.notes)


def test_a_tag_is_found_by_name():
    lines = tagged(frame_of(paid("02-03", "03-03")), [["a"], [], ["b"], []])
    statement = aa.income_statement(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS, columns=[DAYS], tag_ids="Tag a")
    assert statement["Rent", statement.columns[0].key].amount == 3200
    assert any("Only lines with all these tags are counted: Tag a." in note for note in statement.notes)
    with pytest.raises(
        aa.errors.InputError, match=r"'c' is not a tag of the loaded lines; there are Tag a \(a\), Tag b"
    ):
        aa.income_statement(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS, tag_ids="c")
    names = "|".join(f"t{number:02}" for number in range(12))
    many = lines.assign(tag_ids=names, tag_names=names, tag_group_ids="|".join("g" * 12))
    with pytest.raises(aa.errors.InputError, match=r"there are t00 \(t00\), .*, t09 \(t09\) and 2 more$"):
        aa.income_statement(aa.Books(many, LEDGERS, time_zone="UTC"), DAYS, tag_ids="c")


def test_days_without_lines_of_a_tag_are_noted():
    books = aa.Books(tagged(frame_of(paid("02-03", "03-03")), [["a"], [], ["b"], []]), LEDGERS, time_zone="UTC")
    notes = [make(books, "2025-02", tag_ids="b").notes[0] for make in (aa.income_statement, aa.cash_flow_statement)]
    assert notes == [
        "There are no line entries with these tags in these days.",
        "There are no entries that touch cash with these tags in these days.",
    ]


def test_what_cannot_be_split_by_tags_is_refused():
    lines = tagged(frame_of(paid("02-03", "03-03")), [["a", "x"], [], ["b"], []])
    books = aa.Books(lines, LEDGERS, time_zone="UTC")
    with pytest.raises(aa.errors.InputError, match="balances are not split by tags"):
        aa.balance_sheet(books, DAYS, columns="tag")
    with pytest.raises(aa.errors.InputError, match=r"2 groups; pass the id of one .* shop \(tags Tag a, Tag b\), year"):
        aa.income_statement(books, DAYS, columns="tag")
    with pytest.raises(aa.errors.InputError, match="no comparisons"):
        aa.income_statement(books, DAYS, columns="tag", compare="prior")
    with pytest.raises(aa.errors.InputError, match="tag_group is for columns='tag'"):
        aa.income_statement(books, DAYS, tag_group="shop")
    with pytest.raises(aa.errors.FrameError, match="lack the column tag_ids"):
        aa.income_statement(aa.Books(lines.drop(columns="tag_ids"), LEDGERS, time_zone="UTC"), DAYS, tag_ids="a")
    unknown = lines.assign(tag_ids=lines["tag_ids"].where(lines.index > 0))
    with pytest.raises(aa.errors.InputError, match="the tags of 1 line are not known"):
        aa.income_statement(aa.Books(unknown, LEDGERS, time_zone="UTC"), DAYS, tag_ids="a")
    report = aa.recompute_cash_flow(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS)
    with pytest.raises(aa.errors.InputError, match="pass tag_ids to load_cash_flow_report"):
        aa.cash_flow_statement(report, ledgers=LEDGERS, tag_ids="a")
