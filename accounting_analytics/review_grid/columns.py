"""Columns of a review as JSON for the browser: every text once, numbers in lists, amounts in exact minor units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from accounting_analytics.categorization.queue import local_days
from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from accounting_analytics.review_grid.record import ReviewRecord

_MAX_SAFE = 2**53
"""From here on a number of JavaScript is not exact, so that it is sent as text."""


def columns_json(record: ReviewRecord) -> bytes:
    """Write what never changes: categories, accounts, groups, transactions and what is proposed."""
    rows, names = record.rows, record.chart.names
    frame = rows.frame
    texts = _NumberedTexts()
    members: dict[str, list[Any]] = {
        "account": texts.numbers(frame["ledger_name"].fillna(frame["ledger_id"])),
        "other": texts.numbers(map(names.name, frame["counterpart_ledger_id"].fillna(""))),
        "old": texts.numbers(map(names.name, frame["category_ledger_id"])),
        "day": texts.numbers(local_days(frame).dt.strftime("%Y-%m-%d")),
        "description": texts.numbers(frame["description"]),
        "split": texts.numbers(_split_categories(record)),
        "units": [one if abs(one) < _MAX_SAFE else str(one) for one in rows.units],
        "proposed": record.proposals.categories.tolist(),
        "why": texts.numbers(record.proposals.reasons.get(row, "") for row in range(len(rows))),
    }
    groups = {
        "kind": [group.kind for group in rows.groups],
        "merchant": texts.numbers(group.merchant for group in rows.groups),
        "direction": [group.direction for group in rows.groups],
        "start": [group.start for group in rows.groups] + [len(rows)],
    }
    categories = [[names.name(one), names.path(one)] for one in record.categories]
    content = {
        "scale": rows.exact.scale,
        "categories": [[printable(text) for text in one] for one in categories],
        "groups": groups,
        "rows": members,
        "texts": texts.found,
        "notes": [printable(note) for note in record.notes],
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


class _NumberedTexts:
    """Texts without control characters, each once, by its number."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._numbers: dict[Hashable, int] = {}

    def numbers(self, texts: Iterable[object]) -> list[int]:
        """Return the number of each text."""
        return [self._number(str(text)) for text in texts]

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.found))
        if number == len(self.found):
            self.found.append(printable(text))
        return number


def _split_categories(record: ReviewRecord) -> Iterable[str]:
    """Names of the categories of each split; empty for other rows."""
    lists = record.rows.frame["opposing_ledger_ids"]
    for is_split, text in zip(record.rows.is_split.tolist(), lists, strict=True):
        yield ", ".join(map(record.chart.names.name, text.split("|"))) if is_split else ""
