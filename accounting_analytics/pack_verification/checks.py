"""The checks of a pack: each finds what is not as it has to be."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError
from accounting_analytics.pack_verification.pack_data import is_day
from accounting_analytics.pack_verification.result import PackFault
from accounting_analytics.pack_verification.shown_text import agrees, read_shown, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.pack_verification.figure_labels import FigureLabels
    from accounting_analytics.pack_verification.pack_data import PackEntries, PackRecord
    from accounting_analytics.pack_verification.page import PageElement
    from accounting_analytics.pack_verification.recomputation import Recomputation

_OPENING = "Balance before "
_FACTS = ("company", "currency", "start_date", "end_date", "time_zone", "created_at", "verdict")
_ALWAYS_SHOWN = ("company", "currency", "start_date", "end_date", "verdict")
_NOT_READ = {"script", "style", "svg"}


def check_figures(elements: Sequence[PageElement], figures: Recomputation, labels: FigureLabels) -> Iterator[PackFault]:
    """Recompute every figure on the page, and compare."""
    if not elements:
        yield PackFault("figures", "the page", "none", "figures")
    for element in elements:
        table, key = element.nearest("data-table"), element.attributes["data-key"]
        label = labels.label(element)
        where = f"{label} ({table}: {key}), line {element.line}" if label else f"{table}: {key}, line {element.line}"
        form = element.attributes.get("data-form", "")
        if form not in {"", "magnitude"}:
            yield PackFault("figure", where, element.own_text, f"not possible: shown as {form}")
            continue
        try:
            value = figures.value(table, key)
        except InputError as error:
            yield PackFault("figure", where, element.own_text, f"not possible: {error}")
            continue
        expected = value_text(value, form=form)
        if not agrees(read_shown(element.own_text), expected):
            yield PackFault("figure", where, element.own_text, expected)


def check_rows(elements: Sequence[PageElement], record: PackRecord) -> Iterator[PackFault]:
    """Look for the figures that the record says are shown."""
    keys = defaultdict(set)
    for element in elements:
        keys[element.nearest("data-table")].add(element.attributes["data-key"])
    for name, table in record.tables.items():
        if table.shown is None:
            continue
        expected = {f"{row}|{column}" for row in table.shown.rows for column in table.shown.columns}
        for key in sorted(expected - keys[name] - set(table.shown.empty)):
            yield PackFault("figure of the record", f"{name}: {key}", "not on the page", "shown")
        for key in sorted(keys[name] - expected):
            yield PackFault("figure on the page", f"{name}: {key}", "shown", "not among those that the record shows")
        for key in sorted(keys[name] & set(table.shown.empty)):
            yield PackFault("figure on the page", f"{name}: {key}", "shown", "empty")


def check_facts(elements: Iterable[PageElement], record: PackRecord) -> Iterator[PackFault]:
    """Compare the facts on the page with the record: company, currency, days, verdict."""
    facts = {name: getattr(record, name) for name in _FACTS}
    missing = {name for name in _ALWAYS_SHOWN if facts[name]}
    for element in elements:
        name = element.attributes.get("data-field")
        if name is None:
            continue
        missing.discard(name)
        shown = element.attributes.get("datetime", "") if element.name == "time" else element.own_text
        expected = facts.get(name)
        if expected is None or shown != expected.strip(" \t\n"):
            yield PackFault(name, f"line {element.line}", shown, "no such fact" if expected is None else expected)
    for name in _ALWAYS_SHOWN:
        if name in missing:
            yield PackFault(name, "the page", "not shown", facts[name])


def check_days(record: PackRecord, entries: PackEntries) -> Iterator[PackFault]:
    """Check that the days of the period, the columns and the entries go together."""
    first, last = record.start_date, record.end_date
    if not is_day(first) or not is_day(last) or first > last:
        yield PackFault("period", "record", f"{first} to {last}", "a first and a last day")
    for name, table in record.tables.items():
        for measure, columns in table.days.items():
            for column, spans in columns.items():
                for span in spans:
                    if not is_day(span.last) or (span.first and not is_day(span.first)) or span.last > last:
                        yield PackFault(
                            "days of a column",
                            f"{name}: {measure} {column}",
                            f"to {span.last}",
                            f"to {last} at the most",
                        )
    days = Counter(entries.dates[line.date] for line in entries.lines)
    for day in sorted(day for day in days if day > last):
        yield PackFault("day of an entry", f"{days[day]:,} line(s)", day, f"{last} at the latest")
    start = min((day for day in days if day), default=last)
    openings = {entries.texts[line.text] for line in entries.lines if not entries.dates[line.date]}
    for text in sorted(openings):
        day = text.removeprefix(_OPENING)
        if day == text or not is_day(day) or day > start:
            yield PackFault("opening balances", "entries", text, f"{_OPENING}{start}, or of a day before")


def check_journal_entries(entries: PackEntries) -> Iterator[PackFault]:
    """Check that each journal entry that the pack has all lines of is of one day, with debits equal to credits."""
    sums: defaultdict[int, int] = defaultdict(int)
    days: dict[int, str] = {}
    for line in entries.lines:
        if line.entry < 0:
            continue
        sums[line.entry] += int(line.units)
        day = entries.dates[line.date]
        if days.setdefault(line.entry, day) != day:
            yield PackFault("journal entry", f"entry {line.entry}", f"of {days[line.entry]} and {day}", "of one day")
    for entry in sorted(sums):
        if sums[entry]:
            yield PackFault("journal entry", f"entry {entry} of {days[entry]}", f"sum {sums[entry]}", "sum 0")


def unchecked_amounts(elements: Iterable[PageElement], scale: int) -> tuple[str, ...]:
    """Amounts in the text of the page that are not figures; none where amounts have no fraction digits."""
    if not scale:
        return ()
    amount = re.compile(rf"(?<![0-9.,])[0-9]{{1,3}}(?:,?[0-9]{{3}})*\.[0-9]{{{scale}}}(?![0-9.%])")
    found: list[str] = []
    for element in elements:
        if not {"data-key", "data-field"} & element.attributes.keys() and not _is_exempt(element):
            found += amount.findall("".join(element.pieces))
    return tuple(found)


def _is_exempt(element: PageElement) -> bool:
    """Whether the text of an element is code, part of a picture, or something that people typed."""
    return any(one.name in _NOT_READ or "data-text" in one.attributes for one in element.with_parents())
