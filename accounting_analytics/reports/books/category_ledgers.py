"""Ledgers that can be a category, and the uncategorized ledgers of the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from accounting_analytics.core.chart_of_accounts import LedgerType, RequiredLedger, required_roles
from accounting_analytics.core.column_conversion import total
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import stated_attrs
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd


_CONTRADICTIONS = {
    ("inflow", LedgerType.EXPENSE): ("receipt", "an expense", "refunds"),
    ("outflow", LedgerType.REVENUE): ("payment", "revenue", "refunds to customers"),
}
"""Movements of cash that rarely fit a type of category, and what such a movement usually is."""
_ROLE_FIELDS = ("id", "is_required", "sub_type", "debit_credit")


class Categories:
    """The ledgers that rules and decisions can name as category or account."""

    def __init__(self, ledgers: pd.DataFrame) -> None:
        self.names = LedgerNames.from_frame(ledgers)
        self._children = {parent: rows["id"].tolist() for parent, rows in ledgers.groupby("parent_id")}
        self.cash = set(ledgers.loc[ledgers["report_cash_flow"], "id"])
        self._uncategorized = uncategorized_ledgers(ledgers)
        self._types = dict(zip(ledgers["id"], ledgers["type"], strict=True))
        transfers = required_ledgers(ledgers, {RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS})
        self.transfers = min(transfers, default=None)

    def find_category(self, text: object) -> str:
        """Find the ledger of a category. Refuse cash and uncategorized ledgers."""
        ledger_id = self.names.find(text)
        if ledger_id in self.cash:
            raise InputError(f"{text!r} reports cash flow and cannot be a category")
        if ledger_id in self._uncategorized:
            raise InputError(f"{text!r} is an uncategorized ledger and cannot be a category")
        return ledger_id

    def possible(self) -> list[str]:
        """Return the ids of all possible categories, in order of their paths."""
        return sorted(
            self.names.ids - self.cash - self._uncategorized,
            key=lambda ledger_id: (self.names.path(ledger_id), ledger_id),
        )

    def paths(self) -> list[str]:
        """Return the paths of all possible categories, in alphabetical order."""
        return [self.names.path(ledger_id) for ledger_id in self.possible()]

    def find_edited(self, ledger_id: str, name: str) -> str:
        """Find the new category in the two columns of an edited proposal.

        A column may hold an id, a unique name or a path, or be empty. If both are filled, they must mean one ledger.
        """
        texts = [text for text in (ledger_id, name) if text.strip()]
        if not texts:
            raise InputError("there is no new category; write its id, unique name or path, or remove the row")
        found = self.names.find(texts[0])
        path = quote(self.names.path(found))
        if found not in self.names.matches(texts[-1]):
            raise InputError(
                f"the new category is {path} by updated_category_ledger_id, but {quote(name)} by "
                "updated_category_ledger_name; write one of the two columns and clear the other"
            )
        if found in self.cash:
            raise InputError(f"{path} reports cash flow and cannot be a category")
        return found

    def parent_notes(self, ledger_ids: Iterable[str]) -> Iterator[str]:
        """Yield a sentence for each category that is a parent ledger."""
        for ledger_id in dict.fromkeys(ledger_ids):
            if children := [self.names.name(child) for child in self._children.get(ledger_id, [])]:
                yield (
                    f"The category {quote(self.names.path(ledger_id))} is a parent ledger; a ledger below it may be "
                    f"meant: {join_ids(children, limit=3)}."
                )

    def direction_notes(self, rows: pd.DataFrame) -> Iterator[str]:
        """Warn of receipts that are expenses and payments that are revenue.

        `rows` are rows of a queue with new categories and exact amounts.
        """
        types = rows["updated_category_ledger_id"].map(self._types)
        for (direction, kind), (what, named, meant) in _CONTRADICTIONS.items():
            contradicts = (rows["direction"] == direction) & (types == kind)
            ids = rows.loc[contradicts, "updated_category_ledger_id"]
            for ledger_id, amounts in rows.loc[contradicts, "uncategorized_amount"].groupby(ids, sort=False):
                text = format_amount(total(amounts).copy_abs())
                yield (
                    f"{count_of(len(amounts), what)}, {text}, proposed for {quote(self.names.name(ledger_id))}, which "
                    f"is {named}: check that {meant} are meant."
                )

    def find_account(self, text: object) -> str:
        """Find a cash account. Refuse other ledgers, because the queue has only cash accounts."""
        ledger_id = self.names.find(text)
        if ledger_id not in self.cash:
            raise InputError(f"{text!r} does not report cash flow, so none of its transactions is in the queue")
        return ledger_id


def find_named(find: Callable[[str], str], text: str, where: str, error: type[InputError] = InputError) -> str:
    """Find a ledger by the text that a person wrote. An error names the place, `where`."""
    try:
        return find(text)
    except InputError as problem:
        raise error(f"{where}: {problem}") from None


def uncategorized_ledgers(
    ledgers: pd.DataFrame, *, inflow_ledger_id: str | None = None, outflow_ledger_id: str | None = None
) -> set[str]:
    """Return the uncategorized ledgers: the given ids, else those that the chart shows."""
    given = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
    }
    to_detect = {role for role, ledger_id in given.items() if ledger_id is None}
    return required_ledgers(ledgers, to_detect) | {ledger_id for ledger_id in given.values() if ledger_id is not None}


def required_ledgers(ledgers: pd.DataFrame, roles: set[RequiredLedger]) -> set[str]:
    """Return the ledgers that the chart requires for some roles, if it has roles."""
    if not set(_ROLE_FIELDS) <= set(ledgers.columns):
        return set()
    columns = (pa.array(ledgers[name], from_pandas=True).to_pylist() for name in _ROLE_FIELDS)
    ledger_fields = (dict(zip(_ROLE_FIELDS, fields, strict=True)) for fields in zip(*columns, strict=True))
    rows = [fields for fields in ledger_fields if fields["is_required"]]
    found = required_roles(rows, stated_attrs(ledgers).get("required", {}))
    return {ledger_id for ledger_id, role in found.items() if role in roles} & set(ledgers["id"])
