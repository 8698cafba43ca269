"""How the report of an export agrees with its line entries."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.errors import AccountingAnalyticsError
from accounting_analytics.exports.star_schema.exported_books import LINES_OF_A_BATCH
from accounting_analytics.frame_columns import negated
from accounting_analytics.reconciliation import COMPARED_FIELDS, have_same_lines, reconcile
from accounting_analytics.schemas import CashFlowLines

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks
    from accounting_analytics.reconciliation import Reconciliation


class Agreement(NamedTuple):
    """Whether report and line entries agree, in words and as a fact."""

    verdict: str
    is_proven: bool


def describe_agreement(books: ExportedBooks, least_lines: int = LINES_OF_A_BATCH) -> Agreement:
    """Recompute the report from the line entries, rolled forward from its starting balances, and compare the two.

    The text does not name the period, so that it is the same for a month of it that agrees as well. A few months are
    compared at a time; only if they do not agree is the whole period compared in one piece, to count what differs.
    """
    try:
        result = _compare_in_batches(books, least_lines) or _compare(books)
    except AccountingAnalyticsError as error:
        return Agreement(f"Not compared: {error}", is_proven=False)
    return Agreement(f"{result.verdict[0].upper()}{result.verdict[1:]}.", result.ties)


def _compare(books: ExportedBooks) -> Reconciliation:
    """Compare the whole period."""
    return reconcile(books.report, _recompute(books, books.report.starting_balances))


def _compare_in_batches(books: ExportedBooks, least_lines: int) -> Reconciliation | None:
    """Compare the lines of a few months at a time, and then the figures; None unless all agree.

    Figures are sums by ledger, so they are recomputed from one journal entry a batch, with the sums of its lines.
    """
    sums, balances, compared = [], books.report.starting_balances, 0
    with suppress(AccountingAnalyticsError):
        for batch in books.in_batches(least_lines):
            recomputed = _recompute(batch, balances)
            flows = CashFlowLines.exact(recomputed.lines, scale=books.scale).frame
            if recomputed.partial or not have_same_lines(batch.report.lines, flows, COMPARED_FIELDS):
                return None
            sums.append(_sums_by_ledger(batch, flows))
            balances = recomputed.ending_balances
            compared += len(flows)
        whole = _recompute(books._replace(lines=pa.concat_tables(sums)), books.report.starting_balances)
        # the lines were compared above; those of the sums stand for them
        result = reconcile(replace(books.report, lines=whole.lines), whole)
        return result if result.ties and compared == len(books.report.lines) else None
    return None


def _recompute(books: ExportedBooks, starting_balances: pd.DataFrame) -> CashFlowReport:
    period = books.period
    return recompute_cash_flow(
        books.lines,
        books.ledgers,
        period.start_date,
        period.end_date,
        time_zone=period.time_zone,
        starting_balances=starting_balances,
        allow_partial=True,
    )


def _sums_by_ledger(books: ExportedBooks, flows: pd.DataFrame) -> pa.Table:
    """One journal entry with the sum of the lines of each cash ledger, and of the flows of each other ledger."""
    is_cash = pc.is_in(books.lines["ledger_id"], value_set=pa.array(books.cash_ledger_ids, pa.large_string()))
    cash = books.lines.filter(is_cash).select(["ledger_id", "signed_amount"])
    others = pa.table({"ledger_id": flows["ledger_id"], "signed_amount": pa.array(negated(flows["amount"]))})
    sums = pa.concat_tables([cash, others]).group_by("ledger_id").aggregate([("signed_amount", "sum")])
    entry = pa.repeat(str(books.period.start_date), sums.num_rows)
    instant = pa.scalar(books.period.instants()[0].start, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "id": pc.binary_join_element_wise(entry, sums["ledger_id"].cast(pa.string()), " "),
            "ledger_id": sums["ledger_id"],
            "journal_entry_id": entry,
            "journal_entry_description": entry,
            "datetime": pa.repeat(instant, sums.num_rows),
            "signed_amount": sums["signed_amount_sum"],
        }
    )
