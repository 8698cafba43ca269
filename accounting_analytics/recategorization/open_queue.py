"""A queue whose rows are to be decided: by rules, by hand, in a review, or from suggestions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import did_you_mean, quote
from accounting_analytics.core.schemas import Ledgers, Proposals
from accounting_analytics.recategorization.changes import BY_HAND, NEW_CATEGORY, changes_of_frame, changes_of_proposals
from accounting_analytics.recategorization.queue import exact_queue
from accounting_analytics.reports.books.category_ledgers import Categories

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.recategorization.changes import Change

_DECIDED = dict.fromkeys((*NEW_CATEGORY, "rule", "reason"), "str") | {"confidence": "float64"}
"""The columns of a decision with their dtypes."""


class OpenQueue:
    """A queue whose rows are to be decided: each row is a change that has no new category yet.

    `rows` are numbered and have exact amounts. `places` maps transaction and category to the number of a row, and the
    methods find rows by the id of a group or transaction. `chart` has the possible categories of the rows.
    """

    def __init__(self, queue: pd.DataFrame, ledgers: pd.DataFrame) -> None:
        self.queue, self.exact = queue, exact_queue(queue)
        self.ledgers = Ledgers.checked(ledgers)
        self.rows = self.exact.frame.reset_index(drop=True)
        self.chart = Categories(self.ledgers)
        self.changes = changes_of_frame(self.rows.assign(**dict.fromkeys((*NEW_CATEGORY, "rule"), "")))
        self.places = {
            (change.transaction_id, change.category_ledger_id): row for row, change in enumerate(self.changes)
        }
        self.groups, self._transactions = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for row, change in enumerate(self.changes):
            self.groups[change.group_id].append(row)
            self._transactions[change.transaction_id].append(row)

    def __contains__(self, key: str) -> bool:
        return key in self.groups or key in self._transactions

    def find(self, key: str) -> list[int]:
        """Find the rows of a group or a transaction."""
        if key not in self:
            hint = did_you_mean(key, [*self.groups, *self._transactions], most=3)
            raise InputError(
                f"{quote(key)} is neither a group nor a transaction of the queue; "
                f"{hint or 'group_queue(queue) lists the groups'}"
            )
        return self._transactions.get(key) or self.groups[key]

    def find_free(self, key: str) -> list[int]:
        """Find the rows of a group or a transaction. Refuse split transactions."""
        found = self.find(key)
        if any(self.is_split(row) for row in found):
            raise InputError(
                f"{quote(key)} is split: it has several categories, and the interface cannot divide them anew; it can "
                "move the uncategorized part as a whole: client.recategorize_transaction(..., category_ledger_id=...)"
            )
        return found

    def is_split(self, row: int) -> bool:
        """Return whether the transaction of a row has several categories."""
        return bool(self.rows["kind"][row] == "split")

    def by_hand(self, key: str) -> str:
        """Return the text of the column ``rule`` for a decision by hand."""
        return BY_HAND if key in self._transactions else f"{BY_HAND}: {key}"

    def proposals(self, chosen: Mapping[int, Change], notes: Iterable[str], *sources: pd.DataFrame) -> pd.DataFrame:
        """Tabulate the decided rows as proposals, with notes.

        `sources` are the frames, besides the queue, that the proposals were made from.
        """
        decided = self.rows.loc[sorted(chosen)]
        new = {name: [getattr(chosen[row], name) for row in decided.index] for name in _DECIDED}
        decided = decided.assign(**{name: pd.Series(new[name], decided.index, dtype=_DECIDED[name]) for name in new})
        columns = [name for name in Proposals.dtypes() if name in decided]
        table = decided[columns].reset_index(drop=True)
        proposals = Proposals.from_exact(table, self.exact.scale)
        doubts = *self.chart.parent_notes(new[NEW_CATEGORY[0]]), *self.chart.direction_notes(decided)
        attach_notes(proposals, [*notes, *doubts], self.queue, *sources)
        return proposals

    def read_proposals(self, proposals: pd.DataFrame) -> tuple[dict[int, Change], list[str]]:
        """Read proposals as changes by row, and ids that the queue lacks."""
        chosen: dict[int, Change] = {}
        absent: list[str] = []
        for proposed in changes_of_proposals(proposals, self.chart)[0]:
            row = self.places.get((proposed.transaction_id, proposed.category_ledger_id))
            if row is None:
                absent.append(proposed.transaction_id)
            else:
                category = self.chart.find_category(proposed.updated_category_ledger_id)
                chosen[row] = self.changes[row].decided(
                    category, self.chart, proposed.rule, proposed.confidence, proposed.reason
                )
        return chosen, absent
