"""Rows of a review: the transactions of a queue in their groups, most money first, and what is proposed for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import pandas as pd

from accounting_analytics.categorization.groups import KINDS
from accounting_analytics.categorization.transaction_groups import with_groups
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.messages import printable
from accounting_analytics.money import to_minor_units
from accounting_analytics.recategorization.plan_file import resolve_proposals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from accounting_analytics.column_conversion import ExactFrame

KEY = ["transaction_id", "category_ledger_id"]
"""Columns of which no two rows of a queue have the same values."""
NONE = -1
"""In place of the number of a category or a text: there is none."""


class Group(NamedTuple):
    """A group of the queue; its rows are those from `start` to before `end`."""

    group_id: str
    kind: str
    merchant: str
    direction: str
    start: int
    end: int

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """Numbers of its rows."""
        return np.arange(self.start, self.end)


class ReviewedRows(NamedTuple):
    """Rows of a queue in the order of their groups, with the uncategorized part of each in whole minor units."""

    exact: ExactFrame
    groups: tuple[Group, ...]
    units: tuple[int, ...]
    group_numbers: npt.NDArray[np.int64]
    is_split: npt.NDArray[np.bool_]

    @classmethod
    def from_queue(cls, queue: pd.DataFrame) -> Self:
        """Sort a queue by the money of its groups, merchants first, and by that of its transactions."""
        exact = exact_queue(queue)
        frame = with_groups(exact.frame).reset_index(drop=True)
        parts = frame["category_amount"].fillna(frame["amount"])
        frame = frame.assign(units=[to_minor_units(one, exact.scale) for one in parts])
        ids, numbers = pd.factorize(frame["group_id"]), frame["units"].tolist()
        sums = [0] * len(ids[1])
        for group, units in zip(ids[0].tolist(), numbers, strict=True):
            sums[group] += units
        first = frame.drop_duplicates("group_id")
        ranks = [KINDS.index(kind) for kind in first["kind"]]
        order = sorted(range(len(sums)), key=lambda one: (ranks[one], -abs(sums[one]), ids[1][one]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        frame = frame.assign(place=place[ids[0]], size=[-abs(one) for one in numbers])
        frame = frame.sort_values(["place", "size", "datetime", *KEY], kind="stable").reset_index(drop=True)
        places = frame["place"].to_numpy()
        return cls(
            exact._replace(frame=frame.drop(columns=["place", "size", "units"])),
            tuple(_groups(frame, np.searchsorted(places, np.arange(len(order) + 1)))),
            tuple(frame["units"].tolist()),
            places,
            (frame["kind"] == "split").to_numpy(),
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table with exact amounts."""
        return self.exact.frame

    def __len__(self) -> int:
        return len(self.units)

    def total(self, group: Group) -> int:
        """Sum of the uncategorized parts of a group, in whole minor units."""
        return sum(self.units[group.start : group.end])


def _groups(frame: pd.DataFrame, bounds: npt.NDArray[np.int64]) -> Iterator[Group]:
    starts, ends = bounds[:-1].tolist(), bounds[1:].tolist()
    first = frame.iloc[starts]
    columns = (first[name] for name in ("group_id", "kind", "merchant", "direction"))
    for values in zip(*columns, starts, ends, strict=True):
        yield Group._make(values)


class ReviewedProposals(NamedTuple):
    """The proposed category of each row by its number, and why: the rule, and further reasons and confidence."""

    categories: npt.NDArray[np.int32]
    rules: Mapping[int, str]
    reasons: Mapping[int, str]

    @classmethod
    def without_rows(cls, count: int) -> Self:
        """Nothing is proposed for so many rows."""
        return cls(np.full(count, NONE, dtype=np.int32), {}, {})

    def with_frame(
        self, proposals: pd.DataFrame, rows: ReviewedRows, ledgers: pd.DataFrame, numbers: Mapping[str, int]
    ) -> tuple[Self, int]:
        """Add proposals for rows that have none yet; also return how many fit no row."""
        resolved = resolve_proposals(proposals, ledgers)
        keys = zip(*(rows.frame[name].tolist() for name in KEY), strict=True)
        row_of = {key: row for row, key in enumerate(keys)}
        categories, rules, reasons = self.categories.copy(), dict(self.rules), dict(self.reasons)
        absent = 0
        names = (*KEY, "updated_category_ledger_id", "rule")
        columns = [resolved[name].tolist() for name in names] + [_reasons(proposals)]
        for transaction_id, old, new, rule, reason in zip(*columns, strict=True):
            row = row_of.get((transaction_id, old))
            if row is None or new == old:
                absent += 1
            elif categories[row] == NONE:
                categories[row], rules[row], reasons[row] = numbers[new], rule, reason
        return type(self)(categories, rules, reasons), absent


def _reasons(proposals: pd.DataFrame) -> list[str]:
    """Why each row is proposed: its rule, the reason and the confidence where these are given."""
    texts = [printable(str(rule)) for rule in proposals["rule"]]
    if "reason" in proposals:
        given = proposals["reason"].fillna("")
        texts = [printable(str(one)) or text for one, text in zip(given, texts, strict=True)]
    if "confidence" in proposals:
        shares = proposals["confidence"]
        texts = [
            text if pd.isna(share) else f"{text} ({_percent(share)})" for text, share in zip(texts, shares, strict=True)
        ]
    return texts


def _percent(share: float) -> str:
    """Write a share of 1 in percent, rounded down, so that 100 % is certain."""
    return f"{int(1000 * share) / 10:g} %"
