"""`bridge`: why a total changed between two periods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.bridges.result import check_largest
from accounting_analytics.bridges.two_periods import bridge_periods
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.statements.statement import ChosenColumn

if TYPE_CHECKING:
    from accounting_analytics.bridges.result import Bridge


def bridge(
    before: ChosenColumn,
    after: ChosenColumn,
    *,
    edge_days: int = 5,
    largest: int = 8,
) -> Bridge:
    """Explain why a total changed, in steps that sum exactly to the change.

    Between two columns of a statement, each payee of a category has one step, its change, with the first cause that
    fits:

    1. ``earlier`` or ``later``: one payment was made on the other side of the edge that the periods share. This is
       claimed only where it explains the whole change: the period with the payment has two payments more than the
       other; both have payments of the same amounts once it is counted in the other; it is within `edge_days` of the
       edge, and a payment of the same amount is within `edge_days` of the other end of that period, which is its place
       in the other one (rent on 1 and 28 February, and none in March). A payee that has no payment in the earlier
       period must also have been paid before it, in the lines that the statement was made from.
    2. ``new payee``: no payment before. ``gone``: no payment after.
    3. ``more payments`` or ``fewer payments``. The additional ones are named if all others are on the same days of
       both periods, counted from the first, up to three days apart, and the gaps between them are as regular.
    4. ``larger payments`` or ``smaller payments``; ``other amounts`` where money moved in opposite directions. If a
       single payment has another amount, it is named.

    A payment is what a journal entry moved in the category. The payee is the merchant of the transaction's description,
    else of the journal entry's; entries without either are one step of their category, ``other``.

    Parameters
    ----------
    before, after : ChosenColumn
        Two columns of one cash flow or income statement, as ``statement.column("2026-05")`` returns them.
    edge_days : int
        Days on either side of the edge of two periods, at most a quarter of the shorter; 0 looks for no movement.
    largest : int
        How many steps are shown, by absolute amount; the others share one.

    Returns
    -------
    Bridge
        ``.explain()`` says it in sentences. Amounts are positive where they increase cash or net income.

    Raises
    ------
    InputError
        The columns are of balances, are calculated from others, overlap or are of two statements; or an option is
        wrong.
    """
    check_largest(largest)
    if not isinstance(edge_days, int) or edge_days < 0:
        raise InputError(f"edge_days must be a whole number, 0 or more, not {quote(edge_days)}")
    for one in (before, after):
        if not isinstance(one, ChosenColumn):
            raise InputError(
                f'a bridge explains two columns of a statement, such as statement.column("2026-05"), not '
                f"{type(one).__name__}; what changed in the same days, entry by entry, is in drift(before).by_entry of "
                "local books"
            )
    return bridge_periods(before, after, edge_days, largest)
