"""`BridgeStep`: what one cause changed in a category, and the payments of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from accounting_analytics.bridges.causes import Cause, Payment
    from accounting_analytics.ledger_names import LedgerNames


class BridgeStep(NamedTuple):
    """The change of a payee in a category.

    Attributes
    ----------
    key : str
        Ledger id and payee, separated by ``|``: finds the figure in the bridge.
    ledger_id, category : str
        The category.
    payee : str
        The payee, in upper case; empty for entries without text.
    cause : Cause
        Why it changed, and the payments that it is about.
    before, after : tuple of Payment
        The payments of each side.
    is_expense : bool or None
        Whether the category is an expense or a revenue, of a step between two income statements.
    is_deduction : bool
        Whether a payment reduces what its journal entry pays or receives as a whole, as taxes withheld from wages do.
    """

    key: str
    ledger_id: str
    category: str
    payee: str
    cause: Cause
    before: tuple[Payment, ...]
    after: tuple[Payment, ...]
    is_expense: bool | None = None
    is_deduction: bool = False

    @property
    def before_units(self) -> int:
        """What the payments before sum to."""
        return sum(one.units for one in self.before)

    @property
    def after_units(self) -> int:
        """What the payments after sum to."""
        return sum(one.units for one in self.after)

    @property
    def units(self) -> int:
        """The change."""
        return self.after_units - self.before_units

    @property
    def label(self) -> str:
        """Category and payee; of all smaller changes together, how many there are."""
        if not self.ledger_id:
            return self.category
        return f"{self.category}: {self.payee or 'without text'}"


def category_name(names: LedgerNames, ledger_id: str) -> str:
    """Name of a ledger, or its path where another has the name too."""
    name = names.name(ledger_id)
    return names.path(ledger_id) if len(names.matches(name)) > 1 else name
