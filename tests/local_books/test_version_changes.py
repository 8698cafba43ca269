"""What changed between two tables of lines: kinds of changes, exact sums, figures with their lines, refusals."""

import dataclasses
import datetime as dt
import hashlib
import json
import re
from collections import defaultdict
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, InputError
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.schemas import EntryDrift, LineEntries
from accounting_analytics.loading.arrow_lines import sort_lines
from accounting_analytics.local_books.storage import table_schema
from accounting_analytics.local_books.version_changes import compare_lines
from accounting_analytics.local_books.versions import Version
from accounting_analytics.reports.books.changed_lines import KINDS

ZONE = "America/New_York"
NAMES = {"bank": "Bank", "card": "Card", "rent": "Rent", "meals": "Meals", "sales": "Sales"}
TYPES = {"bank": "asset", "card": "liability", "rent": "expense", "meals": "expense", "sales": "revenue"}
LEDGERS = pd.DataFrame({"id": list(NAMES), "name": list(NAMES.values()), "type": list(TYPES.values())})
LEDGERS["report_cash_flow"] = LEDGERS["id"].isin(["bank", "card"])
SIDES = {ledger: -1 if kind in {"liability", "revenue"} else 1 for ledger, kind in TYPES.items()}
"""Sign of a debit in a statement."""
MARCH = dt.datetime(2025, 3, 14, 12, tzinfo=dt.UTC)
APRIL = dt.datetime(2025, 4, 14, 12, tzinfo=dt.UTC)
FOLLOWING = {"opposing_ledger_ids", "related_line_entry_id", "journal_entry_line_entry_ids"}


@dataclasses.dataclass(frozen=True)
class Line:
    """A line: its ledger, and its amount in cents, debits positive."""

    ledger: str
    cents: int
    text: str | None = None
    tag: str = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A journal entry: when it was, and its lines by id."""

    at: dt.datetime
    lines: dict[str, Line]
    text: str = "Payment"

    def change(self, line_id, **fields):
        """Return the entry with another line of that id."""
        changed = dataclasses.replace(self.lines[line_id], **fields)
        return dataclasses.replace(self, lines=self.lines | {line_id: changed})


def purchase(number, ledger="rent", cents=124_000, at=MARCH, **fields):
    """Return an entry that the bank pays for."""
    lines = {f"lin_{number}a": Line("bank", -cents), f"lin_{number}b": Line(ledger, cents, **fields)}
    return Entry(at, lines)


def rows_of(entry_id, entry, scale, names):
    """Return the lines of an entry as the service derives them from each other."""
    for line_id, line in entry.lines.items():
        opposing = [(one, other) for one, other in entry.lines.items() if (other.cents >= 0) != (line.cents >= 0)]
        yield {
            "id": line_id,
            "ledger_id": line.ledger,
            "ledger_name": names[line.ledger],
            "journal_entry_id": entry_id,
            "journal_entry_description": entry.text,
            "datetime": entry.at,
            "amount": Decimal(abs(line.cents)).scaleb(-scale),
            "debit_credit": "debit" if line.cents >= 0 else "credit",
            "signed_amount": Decimal(line.cents).scaleb(-scale),
            "description": line.text,
            "related_line_entry_id": opposing[0][0] if len(opposing) == 1 else None,
            "editable": True,
            "opposing_ledger_ids": "|".join(dict.fromkeys(other.ledger for _, other in opposing)),
            "tag_ids": line.tag,
            "journal_entry_line_entry_ids": "|".join(entry.lines),
        }


def table(entries, scale=2, names=NAMES):
    """Return the lines of entries as the books have them."""
    rows = [row for entry_id, entry in entries.items() for row in rows_of(entry_id, entry, scale, names)]
    schema = table_schema(scale)
    return sort_lines(pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema))


def compare(before, after, **options):
    tables = (one if isinstance(one, pa.Table) else table(one) for one in (before, after))
    labels = {"before_label": "version 3", "after_label": "version 9"}
    return compare_lines(*tables, LEDGERS, **{"time_zone": ZONE, "scale": 2, **labels, **options})


def shown_rows(drift):
    """Return the rows of the frame without names, with exact amounts as text."""
    exact = drift.exact()
    columns = (exact[name] for name in ("month", "ledger_id", "kind", "amount", "entries", "lines"))
    return [
        (month, ledger, kind, str(amount), *counts)
        for month, ledger, kind, amount, *counts in zip(*columns, strict=True)
    ]


def entry_rows(drift):
    """Return the rows by entry without texts and days, with exact amounts as text."""
    exact = EntryDrift.exact(drift.by_entry).frame
    counts = [exact[f"lines_{name}"] for name in ("added", "removed", "changed")]
    amounts = [exact[name].map(str) for name in ("before", "after", "change")]
    return list(zip(exact["journal_entry_id"], exact["kind"], *counts, *amounts, strict=True))


ONE = {"ent_1": purchase(1)}


def test_same_lines_in_any_order_list_nothing():
    lines = table(ONE | {"ent_2": purchase(2, at=APRIL)})
    drift = compare(lines, lines.take(pa.array([3, 1, 0, 2])))
    assert drift.frame.empty
    assert drift.figures == []
    assert drift.lines.empty
    assert drift.by_entry.empty
    assert drift.summary() == "No line changed between version 3 and version 9."
    assert drift.explain() == drift.summary()
    assert drift.line_counts == dict.fromkeys(KINDS, 0)
    with pytest.raises(InputError, match="no row matches '2025-03'; no line changed"):
        drift["2025-03"]


def test_changed_entry_is_a_row_with_cash_before_and_after():
    before = {f"ent_{number}": purchase(number, at=MARCH + dt.timedelta(days=number)) for number in range(4)}
    before["ent_9"] = Entry(APRIL, {"a": Line("rent", -500), "b": Line("meals", 500)}, "Accrual")
    after = before | {
        "ent_1": before["ent_1"].change("lin_1b", ledger="meals"),
        "ent_2": purchase(2, cents=125_000, at=MARCH + dt.timedelta(days=2)),
        "ent_5": purchase(5, "sales", -700),
        "ent_9": before["ent_9"].change("a", cents=-600).change("b", cents=600),
    }
    del after["ent_3"]
    drift = compare(before, after)
    assert entry_rows(drift) == [
        ("ent_5", "added", 2, 0, 0, "0.00", "7.00", "7.00"),
        ("ent_1", "recategorized", 0, 0, 1, "-1240.00", "-1240.00", "0.00"),
        ("ent_2", "amended", 0, 0, 2, "-1240.00", "-1250.00", "-10.00"),
        ("ent_3", "removed", 0, 2, 0, "-1240.00", "0.00", "1240.00"),
        ("ent_9", "amended", 0, 0, 2, "0.00", "0.00", "0.00"),
    ]
    assert drift.summary() == "Changes between version 3 and version 9: 9 lines of 5 journal entries in 2 months."
    assert drift.line_counts == {"added": 2, "removed": 2, "recategorized": 1, "amended": 4}
    found = drift.by_entry.set_index("journal_entry_id")
    assert found["ledgers"].to_dict() == {
        "ent_5": "Bank, Sales",
        "ent_1": "Rent, Meals",
        "ent_2": "Bank, Rent",
        "ent_3": "Bank, Rent",
        "ent_9": "Rent, Meals",
    }
    assert list(found["description"]) == ["Payment"] * 4 + ["Accrual"]
    assert list(found["counterparty"].dropna()) == ["PAYMENT"] * 4  # an accrual has none
    assert str(found.loc["ent_2", "local_date"]) == "2025-03-16 00:00:00"


def test_recategorized_line_moves_its_amount_between_ledgers():
    drift = compare(ONE, {"ent_1": ONE["ent_1"].change("lin_1b", ledger="meals", text="Lunch")})
    assert shown_rows(drift) == [
        ("2025-03", "meals", "recategorized", "1240.00", 1, 1),
        ("2025-03", "rent", "recategorized", "-1240.00", 1, 1),
    ]
    assert drift.summary() == "Changes between version 3 and version 9: 1 line of 1 journal entry in 1 month."
    assert "\n2025-03  Rent: -1,240.00, 1 entry, recategorized" in drift.explain()


@pytest.mark.parametrize("fields", [{"text": "Office"}, {"tag": "tag_1"}])
def test_changed_texts_and_tags_are_rows_without_amounts(fields):
    drift = compare(ONE, {"ent_1": ONE["ent_1"].change("lin_1b", **fields)})
    assert shown_rows(drift) == [("2025-03", "rent", "amended", "0.00", 1, 1)]
    entries = drift["2025-03|rent"].entries
    assert list(entries["change"]) == ["before", "after"]
    assert list(entries["figure_amount"]) == [-1240.0, 1240.0]


def test_changed_references_alone_are_listed_without_other_changes():
    split = dataclasses.replace(ONE["ent_1"], lines=ONE["ent_1"].lines | {"lin_1c": Line("meals", 0)})
    assert shown_rows(compare(ONE, {"ent_1": split})) == [("2025-03", "meals", "added", "0.00", 1, 1)]
    renamed = table(ONE, names=NAMES | {"rent": "Office rent"})
    assert shown_rows(compare(ONE, renamed)) == []
    moved = {"ent_1": ONE["ent_1"].change("lin_1a", ledger="card")}
    assert {row[1] for row in shown_rows(compare(ONE, table(moved, names=NAMES | {"rent": "Office rent"})))} == {
        "bank",
        "card",
    }


def test_line_in_another_month_leaves_one_and_enters_other():
    last_night_of_march = dt.datetime(2025, 4, 1, 3, 59, tzinfo=dt.UTC)
    before = {"ent_1": purchase(1, at=last_night_of_march)}
    after = {"ent_1": purchase(1, at=last_night_of_march + dt.timedelta(minutes=1))}
    both = [
        ("2025-03", "bank", "amended", "1240.00", 1, 1),
        ("2025-03", "rent", "amended", "-1240.00", 1, 1),
        ("2025-04", "bank", "amended", "-1240.00", 1, 1),
        ("2025-04", "rent", "amended", "1240.00", 1, 1),
    ]
    assert shown_rows(compare(before, after)) == both
    assert shown_rows(compare(before, after, time_zone="UTC"))[0] == ("2025-04", "bank", "amended", "0.00", 1, 1)
    april = aa.Period("2025-04-01", "2025-04-30", ZONE)
    assert shown_rows(compare(before, after, period=april)) == both[2:]
    assert compare(before, after, period=april)["2025-04|rent"].entries["change"].tolist() == ["after"]


def test_figures_of_months_ledgers_and_kinds_have_lines():
    before = ONE | {"ent_2": purchase(2, "rent", 500)}
    after = {"ent_1": ONE["ent_1"].change("lin_1b", ledger="meals"), "ent_3": purchase(3, "rent", 700)}
    drift = compare(before, after, notes=["A note."])
    assert [(figure.key, figure.amount) for figure in drift.figures] == [
        ("2025-03|meals", 1240.0),
        ("2025-03|rent", -1238.0),
        ("2025-03|bank", -2.0),
    ]
    rent = drift["2025-03|Rent"]
    assert (rent.key, rent.label, rent.amount, rent.exact()) == (
        "2025-03|rent",
        "Rent, 2025-03",
        -1238.0,
        Decimal("-1238.00"),
    )
    assert rent.calculation == "the lines of version 9 less those of version 3"
    part = drift["2025-03|rent|added"]
    assert (part.label, part.amount, list(part.entries["id"])) == ("Rent, added, 2025-03", 7.0, ["lin_3b"])
    cash = drift["2025-03"]
    assert (cash.label, cash.amount) == ("Change of cash, 2025-03", -2.0)
    assert list(cash.entries["id"]) == ["lin_2a", "lin_3a"]
    assert list(cash.entries["kind"]) == ["removed", "added"]
    assert list(cash.entries["local_date"]) == [pd.Timestamp("2025-03-14")] * 2
    assert set(LineEntries.dtypes()) <= set(cash.entries.columns)
    assert len(drift.lines) == 6
    assert drift.notes == drift.lines.attrs["notes"] == ("A note.",)


def test_figures_unfold_lines_before_with_opposite_sign():
    before = ONE | {"ent_2": purchase(2, "rent", 500)}
    drift = compare(before, {"ent_1": ONE["ent_1"].change("lin_1b", ledger="meals"), "ent_3": purchase(3, "rent", 700)})
    page = drift._repr_html_()
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    shown = re.findall(r'data-key="([^"]+)">([^<]+)<', page)
    assert [key for key, _ in shown] == [f"{one.month}|{one.ledger_id}|{one.kind}" for one in drift.frame.itertuples()]
    for key, text in shown:
        row, _, column = key.rpartition("|")
        flat = data["figures"][row][data["columns"].index(column)]
        runs = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        units = sum(sign * int(line[4]) for sign, first, last in runs for line in data["lines"][first : last + 1])
        assert drift[key].exact() == Decimal(units).scaleb(-2)
        assert text.strip("()") == f"{abs(drift[key].exact()):,}"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("2025-03|Rant", r"did you mean '2025-03\|Rent' "),
        ("2024-03", "did you mean '2025-03'"),
        ("2025-03|rent|removed", r"did you mean '2025-03\|Rent\|amended'"),
        ("zzz", "give a month, a ledger or a kind in .frame"),
        (("2025-03", "rent"), "no row matches"),
    ],
)
def test_unknown_key_suggests_similar_keys(key, hint):
    drift = compare(ONE, {"ent_1": purchase(1, text="x")})
    with pytest.raises(InputError, match=hint):
        drift[key]


def test_unknown_ledger_is_named_by_its_id():
    chart = LEDGERS[LEDGERS["id"] != "rent"]
    labels = {"before_label": "a", "after_label": "b"}
    drift = compare_lines(table({}), table(ONE), chart, time_zone=ZONE, scale=2, **labels)
    assert list(drift.frame["ledger_name"]) == ["Bank", "rent"]
    assert drift["2025-03|rent"].label == "rent, 2025-03"


def test_sums_of_36_digits_are_exact():
    large = 9 * 10**35
    before = {f"ent_{number}": purchase(number, cents=large) for number in range(100)}
    drift = compare(before, {"ent_1": purchase(1)})
    (rent,) = (row for row in shown_rows(drift) if row[1:3] == ("rent", "removed"))
    assert rent[3] == f"-{99 * 9}{'0' * 33}.00"
    assert rent[3] in drift.to_json()
    total = drift["2025-03|rent"]
    assert total.exact() == from_minor_units(124_000 - 100 * large)
    assert len(total.exact_entries()) == 101
    for floats in (lambda: drift.frame, lambda: drift.lines, lambda: drift.by_entry, lambda: total.amount):
        with pytest.raises(AmountError, match="is too large for a pandas frame"):
            floats()


def test_amounts_of_four_fraction_digits_are_exact():
    drift = compare(table(ONE, 4), table({}, 4), scale=4)
    assert json.loads(drift.to_json())["changes"][0]["amount"] == "12.4000"


def test_changes_are_found_in_long_and_shuffled_tables():
    before = {f"ent_{number}": purchase(number, at=MARCH + dt.timedelta(hours=number)) for number in range(400)}
    after = before | {"ent_250": before["ent_250"].change("lin_250b", ledger="meals")}
    del after["ent_100"]
    after["ent_999"] = purchase(999, at=MARCH + dt.timedelta(hours=50))
    lines = table(after)
    expected = naive_rows(table(before), lines, ZONE)
    shuffled = lines.take(pa.array(list(reversed(range(lines.num_rows)))))
    assert shown_rows(compare(before, lines)) == shown_rows(compare(before, shuffled)) == expected
    assert sum(row[5] for row in expected) == 6


def test_repeated_id_of_a_damaged_table_keeps_sums():
    doubled = pa.concat_tables([table(ONE), table({"ent_1": purchase(1, at=APRIL)})])
    for before, after, sign in ((ONE, doubled, 1), (doubled, ONE, -1)):
        sums = defaultdict(Decimal)
        for month, ledger, _, amount, *_ in shown_rows(compare(before, after)):
            sums[month, ledger] += Decimal(amount)
        changed = {key: amount for key, amount in sums.items() if amount}
        assert changed == {("2025-04", "bank"): sign * Decimal(-1240), ("2025-04", "rent"): sign * Decimal(1240)}


def test_column_of_one_version_alone_is_no_change():
    before = table(ONE).drop_columns("source_account_id")
    assert compare(before, ONE).frame.empty
    assert list(compare(before, {})["2025-03|rent"].entries["id"]) == ["lin_1b"]


# -- random books ------------------------------------------------------------------------------------------------------

amounts = st.integers(-10_000, 10_000)
instants = st.integers(0, 36 * 24 * 60).map(lambda minutes: MARCH + dt.timedelta(minutes=minutes - 16 * 24 * 60))
texts = st.sampled_from([None, "", "Lunch", "Ärger"])


@st.composite
def entries_of(draw):
    """Draw balanced journal entries with ids of their own."""
    found = {}
    for number in range(draw(st.integers(0, 6))):
        parts = draw(st.lists(amounts, min_size=1, max_size=3))
        ledgers = draw(st.lists(st.sampled_from(list(NAMES)), min_size=len(parts) + 1, max_size=len(parts) + 1))
        lines = zip(ledgers, [*parts, -sum(parts)], strict=True)
        found[f"ent_{number}"] = Entry(
            draw(instants), {f"lin_{number}_{place}": Line(*line) for place, line in enumerate(lines)}
        )
    return found


@st.composite
def edits(draw, entries, *, may_move=True):
    """Draw the entries as they are after some were removed, added, or changed in one way or in several."""
    after = {}
    for entry_id, entry in entries.items():
        if draw(st.integers(0, 5)) == 0:
            continue
        changed = entry
        for line_id in entry.lines:
            match draw(st.integers(0, 7)):
                case 0:
                    changed = changed.change(line_id, ledger=draw(st.sampled_from(list(NAMES))))
                case 1:
                    changed = changed.change(line_id, text=draw(texts))
                case 2:
                    changed = changed.change(line_id, ledger="meals", text="Moved", tag="tag_1")
                case 3:
                    cents, other = draw(amounts), next(one for one in entry.lines if one != line_id)
                    gap = changed.lines[line_id].cents - cents
                    changed = changed.change(line_id, cents=cents)
                    changed = changed.change(other, cents=changed.lines[other].cents + gap)
        if may_move and draw(st.integers(0, 3)) == 0:
            changed = dataclasses.replace(changed, at=draw(instants))
        after[entry_id] = changed
    new = draw(entries_of())
    added = {
        f"new_{key}": dataclasses.replace(one, lines={f"new_{k}": v for k, v in one.lines.items()})
        for key, one in new.items()
    }
    return after | added


def naive(before, after):
    """Compare two tables line by line; return kind, and lines with the sign they are summed with."""
    old, new = ({row["id"]: row for row in lines.to_pylist()} for lines in (before, after))
    kinds, references = {}, {}
    for line_id in old.keys() | new.keys():
        if line_id not in old or line_id not in new:
            kinds[line_id] = "added" if line_id in new else "removed"
            continue
        was, now = old[line_id], new[line_id]
        differing = {name for name in was if was[name] != now[name]} - {"ledger_name", "editable"}
        if differing - FOLLOWING:
            stays = all(was[name] == now[name] for name in ("amount", "debit_credit", "datetime"))
            kinds[line_id] = "recategorized" if "ledger_id" in differing and stays else "amended"
        elif differing:
            references[line_id] = was["journal_entry_id"]
    entries = {lines[line_id]["journal_entry_id"] for lines in (old, new) for line_id in kinds if line_id in lines}
    kinds |= {line_id: "amended" for line_id, entry_id in references.items() if entry_id not in entries}
    return kinds, [
        (kinds[one], sign, rows[one]) for rows, sign in ((old, -1), (new, 1)) for one in kinds if one in rows
    ]


def naive_rows(before, after, zone):
    """Return the rows of the frame as mappings sum them up."""
    sums, entries, lines = defaultdict(Decimal), defaultdict(set), defaultdict(set)
    for kind, sign, row in naive(before, after)[1]:
        month = pd.Timestamp(row["datetime"]).tz_convert(zone).strftime("%Y-%m")
        key = (month, row["ledger_id"], kind)
        sums[key] += SIDES[row["ledger_id"]] * sign * row["signed_amount"]
        entries[key].add(row["journal_entry_id"])
        lines[key].add(row["id"])
    found = [(*key, str(sums[key]), len(entries[key]), len(lines[key])) for key in sums]
    return sorted(found, key=lambda row: (row[0], -abs(Decimal(row[3])), NAMES[row[1]], row[2]))


def naive_entry_rows(before, after):
    """Return the rows by entry as loops over all lines find them, in order of the latest time of each entry."""
    kinds, signed_lines = naive(before, after)
    changed = {row["journal_entry_id"] for _, _, row in signed_lines}
    found = []
    for entry_id in changed:
        old, new = (
            [one for one in rows.to_pylist() if one["journal_entry_id"] == entry_id] for rows in (before, after)
        )
        of_entry = [kinds[one] for one in {one["id"] for one in (*old, *new)} if one in kinds]
        amended = "recategorized" if set(of_entry) == {"recategorized"} else "amended"
        cash = [sum((one["signed_amount"] for one in rows if one["ledger_id"] in {"bank", "card"}), Decimal("0.00"))
                for rows in (old, new)]  # fmt: skip
        row = (
            entry_id,
            amended if old and new else "added" if new else "removed",
            of_entry.count("added"),
            of_entry.count("removed"),
            of_entry.count("recategorized") + of_entry.count("amended"),
            *map(str, (*cash, cash[1] - cash[0])),
        )
        found.append(((new or old)[0]["datetime"], row))
    return [row for _, row in sorted(found)]


@settings.get_profile("slow")
@given(data=st.data())
def test_random_edits_equal_a_naive_comparison(data):
    entries = data.draw(entries_of())
    before, after = table(entries), table(data.draw(edits(entries)))
    drift = compare(before, after)
    expected = naive_rows(before, after, ZONE)
    assert shown_rows(drift) == expected
    kinds, _ = naive(before, after)
    assert drift.line_counts == {kind: list(kinds.values()).count(kind) for kind in KINDS}
    assert entry_rows(drift) == naive_entry_rows(before, after)
    sums = {"|".join(row[:count]): Decimal(0) for row in expected for count in (1, 2, 3)}
    for month, ledger, kind, amount, *_ in expected:
        sums[month] += SIDES[ledger] * Decimal(amount) if ledger in {"bank", "card"} else 0
        sums[f"{month}|{ledger}"] += Decimal(amount)
        sums[f"{month}|{ledger}|{kind}"] += Decimal(amount)
    assert {key: drift[key].exact() for key in sums} == sums
    assert [figure.key for figure in drift.figures] == list(dict.fromkeys("|".join(row[:2]) for row in expected))
    if sums:
        figure = drift[data.draw(st.sampled_from(list(sums)))]
        assert sum(round(amount * 100) for amount in figure.entries["figure_amount"]) == sums[figure.key] * 100


def test_another_column_is_another_format():
    """Local books state the format of their versions, which is another one as soon as their columns are others."""
    columns = ",".join(f"{field.name} {field.type}" for field in table_schema(2))
    assert Version.__struct_defaults__[-1] == 3
    assert hashlib.sha256(columns.encode()).hexdigest()[:12] == "8312ac81eff4"


def test_a_version_is_not_compared_with_itself(posted_books, tmp_path):
    client = posted_books(
        [("2025-03-10", {"bank": -1, "rent": 1})], {"bank": "bank_account", "rent": "expense operating_expenses debit"}
    )
    local = aa.LocalBooks.open(tmp_path / "books")
    for _ in range(2):
        local.sync(client, start_date="2025-03-01", end_date="2025-03-31", progress=False)
    today = local.synced_at.date().isoformat()
    with pytest.raises(
        InputError, match=rf"the newest version of {today} is 1, .* name a version before it, such as 0"
    ):
        local.drift(today)
    assert local.drift(0).frame.empty
