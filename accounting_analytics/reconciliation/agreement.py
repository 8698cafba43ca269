"""Whether two reports agree in every figure that can be compared, found out as early as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.reconciliation.differences import Compared, Comparison
from accounting_analytics.reconciliation.figure_comparison import (
    compare_balances,
    compare_cash_balances,
    compare_figure,
    compare_ledgers,
)
from accounting_analytics.reconciliation.line_comparison import compare_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    import pyarrow as pa

    from accounting_analytics.cash_flow_report import CashFlowReport


def agree(reported: CashFlowReport, assumed: CashFlowReport, line_entries: pa.Table) -> bool:
    """Whether the reported figures and lines are all those of a report that was made under an assumption."""
    return not any(one.differences for one in _comparisons(reported, assumed, line_entries))


def _comparisons(reported: CashFlowReport, assumed: CashFlowReport, line_entries: pa.Table) -> Iterator[Compared]:
    """Compare sums first, lines last: they take longest."""
    yield from compare_cash_balances(reported, assumed)
    yield compare_figure("identity", reported.exact_sums().identity_gap, assumed.exact_sums().identity_gap, "")
    without_lines = Compared(Comparison("line", 0, 0), [], [])
    yield from compare_ledgers(reported, assumed, without_lines)
    for side in ("starting", "ending"):
        yield from compare_balances(reported, assumed, side, _no_reason)
    yield compare_lines(reported, assumed, line_entries, {})


def _no_reason(_ledger_id: str, _difference: Decimal) -> str:
    return ""
