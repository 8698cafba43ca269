"""New categories of a plan, as people write them: by id, unique name or path, in one of two columns or in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pandas as pd

from accounting_analytics.categorization.categories import Categories
from accounting_analytics.errors import InputError, PlanError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import quote
from accounting_analytics.schemas import Ledgers, Proposals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.recategorization.plan import PlanItem

ID_COLUMN = "updated_category_ledger_id"
NAME_COLUMN = "updated_category_ledger_name"


class NewCategory(Protocol):
    """How the new category of a row is determined from its two columns."""

    def find(self, ledger_id: str, name: str, where: str) -> tuple[str, str]:
        """Id and name of the new category; PlanError names the row `where` and what is wrong."""

    def notes(self, ledger_ids: Iterable[str]) -> tuple[str, ...]:
        """Sentences about new categories that may be mistaken."""


class DiscoveredCategory:
    """New categories looked up in the chart of accounts.

    Each column may hold an id, a unique name or a path, or be empty; both must mean the same ledger.

    Parameters
    ----------
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    others : mapping of str to str, optional
        Name of each further ledger that exists, by id.
    """

    def __init__(self, ledgers: pd.DataFrame, others: Mapping[str, str] | None = None) -> None:
        ledgers = Ledgers.checked(ledgers)
        self._chart = Categories(ledgers, set())
        discovered = dict(zip(ledgers["id"], ledgers["name"], strict=True))
        self._names = LedgerNames(discovered | dict(others or {}), self._chart.names.hierarchy)
        self._cash = set(ledgers.loc[ledgers["report_cash_flow"], "id"])

    def find(self, ledger_id: str, name: str, where: str) -> tuple[str, str]:
        """Id and name of the one ledger that both columns mean."""
        texts = {column: text for column, text in ((ID_COLUMN, ledger_id), (NAME_COLUMN, name)) if text.strip()}
        if not texts:
            msg = f"{where}: there is no new category; write its id, unique name or path, or remove the row"
            raise PlanError(msg)
        matches = {column: self._names.matches(text) for column, text in texts.items()}
        common = frozenset.intersection(*matches.values())
        for column, text in texts.items():
            if not matches[column] or len(common) > 1:
                self._find_one(text, f"{where}: {column}")
        if not common:
            meanings = [f"{column} {quote(text)} is {self._paths(matches[column])}" for column, text in texts.items()]
            msg = (
                f"{where}: {', but '.join(meanings)}; write the category in one of the two columns (id, unique name or "
                "path) and clear the other"
            )
            raise PlanError(msg)
        (found,) = common
        if found in self._cash:
            msg = f"{where}: {self._paths(common)} reports cash flow and cannot be a category"
            raise PlanError(msg)
        return found, self._names.name(found)

    def notes(self, ledger_ids: Iterable[str]) -> tuple[str, ...]:
        """One sentence for each new category that is a parent ledger."""
        return tuple(
            f"The new category {quote(self._names.path(ledger_id))} {hint}"
            for ledger_id in dict.fromkeys(ledger_ids)
            if (hint := self._chart.parent_hint(ledger_id))
        )

    def _find_one(self, text: str, where: str) -> str:
        try:
            return self._names.find(text)
        except InputError as error:
            msg = f"{where}: {error}"
            raise PlanError(msg) from None

    def _paths(self, ledger_ids: frozenset[str]) -> str:
        return " or ".join(quote(path) for path in sorted(map(self._names.path, ledger_ids)))


class WrittenCategory:
    """New categories as a file states them, without a chart of accounts: an id and one name for each id."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, str]] = {}

    def find(self, ledger_id: str, name: str, where: str) -> tuple[str, str]:
        """Id and name as the row states them, if no earlier row gives this id another name."""
        for column, text in ((ID_COLUMN, ledger_id), (NAME_COLUMN, name)):
            if not text:
                msg = f"{where}: {column} is empty; pass ledgers= to look the category up by the other column"
                raise PlanError(msg)
        rows = self._rows.setdefault(ledger_id, {})
        if rows and name not in rows:
            known_name, known_where = next(iter(rows.items()))
            rows[name] = where  # further rows with this name are not refused again
            msg = (
                f"{where}: ledger {quote(ledger_id)} is named {quote(name)}, but {quote(known_name)} in {known_where}; "
                f"one of the two rows was edited: change {ID_COLUMN} and {NAME_COLUMN} together, or pass ledgers= to "
                "write one and clear the other"
            )
            raise PlanError(msg)
        rows.setdefault(name, where)
        return ledger_id, name

    def notes(self, ledger_ids: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 (of the protocol)
        """Nothing: which ledgers are parents is not known."""
        return ()


def differently_named(items: Iterable[PlanItem], names: LedgerNames) -> dict[PlanItem, str]:
    """Items whose new category has another name in the books than in the plan, and the reason to refuse them."""
    return {
        item: f"ledger {item.updated_category_ledger_id} is named "
        f"{quote(names.name(item.updated_category_ledger_id))} in the books, not "
        f"{quote(item.updated_category_ledger_name)}; change {ID_COLUMN} and {NAME_COLUMN} together, or load the plan "
        "with ledgers= to write one and clear the other"
        for item in items
        if item.updated_category_ledger_id in names.ids
        and item.updated_category_ledger_id not in names.matches(item.updated_category_ledger_name)
    }


def refuse_items(refused: Mapping[PlanItem, str], count: int) -> None:
    """Raise PlanError with the first of the refused items of a plan of `count` items, if there are any."""
    for item, reason in refused.items():
        first = f"transaction {item.transaction_id}: {reason}"
        msg = f"{len(refused):,} of {count:,} item(s) cannot be applied; first: {first}"
        raise PlanError(msg)


def resolved_proposals(proposals: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Proposals with the id and name of the ledger that each row means by its new category.

    Raises
    ------
    PlanError
        Names the first row whose category is missing, unknown, ambiguous or cash, or whose columns disagree.
    """
    category = DiscoveredCategory(ledgers)
    cleared = {name: proposals[name].fillna("").astype("str") for name in (ID_COLUMN, NAME_COLUMN) if name in proposals}
    known = [name for name in Proposals.dtypes() if name in proposals]
    checked = Proposals.checked(proposals.assign(**cleared)[known])
    columns = (checked[name].tolist() for name in ("transaction_id", ID_COLUMN, NAME_COLUMN))
    found = [
        category.find(ledger_id, name, f"row {label} of the proposals (transaction {transaction_id})")
        for label, transaction_id, ledger_id, name in zip(proposals.index.tolist(), *columns, strict=True)
    ]
    ids, names = zip(*found, strict=True) if found else ((), ())
    resolved = {ID_COLUMN: ids, NAME_COLUMN: names}
    return checked.assign(**{name: pd.Series(values, checked.index, dtype="str") for name, values in resolved.items()})
