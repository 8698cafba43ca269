"""Selections of line entries that a figure adds or subtracts, by ledger and day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.periods import DAY, Interval, Period, day_after

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accounting_analytics.core.exact_sums import Days


class Span(NamedTuple):
    """Lines from a first to a last day, both included: all lines, or only those of cash flows.

    Without a first day, the span has all lines up to the last day. A span whose last day is before the first has no
    lines. `tag` names a part of the lines of a statement that is split by tags. With `is_flow`, a span has the lines of
    entries that touch cash and no ledger of opening balances. With `is_opening`, their entries touch both.
    """

    first: dt.date | None
    last: dt.date
    is_flow: bool = False
    tag: str = ""
    is_opening: bool = False

    @property
    def part(self) -> int:
        """Part of cash flow that the span has: 1 flows, 2 opening balances, 0 all lines."""
        return 2 if self.is_opening else int(self.is_flow)

    @property
    def is_empty(self) -> bool:
        """True if the span has no day."""
        return self.first is not None and self.last < self.first

    def intervals(self, time_zone: str) -> Days:
        """Return the instants at which the days begin and end."""
        if self.is_empty:
            return ()
        if self.first is not None:
            return Period(self.first, self.last, time_zone).instants()
        if self.last == dt.date.max:
            return (Interval(dt.datetime.min.replace(tzinfo=dt.UTC), None),)
        after = self.last + DAY
        return Period(after, after, time_zone).instants_before()


class Selection(NamedTuple):
    """Signed lines of some ledgers that a figure adds (1) or subtracts (-1)."""

    factor: int
    span: Span
    ledger_ids: Collection[str]


def units_of(selections: Sequence[Selection], sums: Mapping[Span, Mapping[str, int]]) -> int:
    """Add up selections, from sums by span and ledger."""
    return sum(part.factor * sums[part.span].get(ledger_id, 0) for part in selections for ledger_id in part.ledger_ids)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join spans whose days overlap or follow each other."""
    found: list[Span] = []
    days = {span._replace(is_flow=False, is_opening=False) for span in spans}
    for span in sorted(days, key=lambda span: span.first or dt.date.min):
        if found and (span.first is None or span.first <= day_after(found[-1].last)):
            found[-1] = found[-1]._replace(last=max(found[-1].last, span.last))
        else:
            found.append(span)
    return found


def simplified(selections: Sequence[Selection]) -> list[Selection]:
    """Join selections of adjacent days, and drop lines that are both added and subtracted."""
    first, *others = sorted(selections, key=lambda part: part.span.last)
    simple = [first]
    for part in others:
        last = simple[-1]
        same = (part.ledger_ids, part.span[2:]) == (last.ledger_ids, last.span[2:])
        follows = part.span.first == last.span.last + DAY
        if same and follows and part.factor == last.factor:
            simple[-1] = last._replace(span=last.span._replace(last=part.span.last))
        elif same and part.span.first == last.span.first and part.factor == -last.factor:
            simple[-1] = part._replace(span=part.span._replace(first=last.span.last + DAY))
        else:
            simple.append(part)
    return simple
