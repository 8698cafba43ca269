"""Backtest: what would have been suggested for each past month, from the months before it, and how much was right."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.payee_history import lower_bound, upper_bound
from accounting_analytics.categorization.suggestions import (
    PRECISION,
    Confidence,
    Trials,
    can_be_suggested,
    check_precision,
    choose_threshold,
    month_name,
    read_past,
)
from accounting_analytics.column_conversion import decimal_scale, is_decimal
from accounting_analytics.local_books import ledgers_of, lines_of
from accounting_analytics.messages import count_of
from accounting_analytics.money import EXACT
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import BacktestMonths, Ledgers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from accounting_analytics.categorization.payee_history import PastTransactions, Votes
    from accounting_analytics.local_books import LocalBooks

    Numbers = npt.NDArray[Any]

_BINS = 5
_SHARES = ("coverage", "amount_coverage", "precision", "precision_low", "precision_high", "mean_confidence")
_HEADING = f"{'month':7}  {'suggested':>15}  {'of money':>8}  {'right':>7}  {'95 % bounds':>15}  {'last category':>14}"


class CalibrationBin(NamedTuple):
    """Suggestions of similar confidence: its mean, the share that was right, and how many there are."""

    confidence: float
    right_share: float
    suggestion_count: int


@dataclass(frozen=True, repr=False)
class Backtest(Result):
    """Result of :func:`backtest`.

    Attributes
    ----------
    precision : float
        The wanted precision.
    frame : DataFrame
        :class:`~accounting_analytics.schemas.BacktestMonths`, one row per month.
    calibration : tuple of CalibrationBin
        Confidence compared with what was right, in bins of equally many suggestions.
    notes : tuple of str
        Months without suggestions, and why.
    """

    precision: float
    months: pd.DataFrame
    calibration: tuple[CalibrationBin, ...]
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """The months (a copy)."""
        return self.months.copy()

    @property
    def calibration_error(self) -> float:
        """Mean distance between confidence and the share that was right, over the bins."""
        count = sum(one.suggestion_count for one in self.calibration)
        gaps = (one.suggestion_count * abs(one.confidence - one.right_share) for one in self.calibration)
        return sum(gaps) / max(count, 1)

    def summary(self) -> str:
        """One line: how many suggestions were right, what they cover, and what the last category would have been."""
        counts = self.months[["transaction_count", "suggested_count", "right_count", "last_count", "last_right_count"]]
        every, suggested, right, last, last_right = (int(one) for one in counts.sum())
        amounts = BacktestMonths.exact(self.months).frame
        money = _share_of(_sum(amounts["suggested_amount"]), _sum(amounts["amount"]))
        if not suggested:
            return f"No suggestions for {count_of(len(self.months), 'month')} at a precision of {self.precision:.1%}."
        return (
            f"{right:,} of {suggested:,} suggestions for {count_of(len(self.months), 'month')} were right: "
            f"{right / suggested:.1%}, at least {lower_bound(right, suggested):.1%}; {self.precision:.1%} is wanted. "
            f"They cover {suggested / every:.1%} of {every:,} transactions and {money:.1%} of the money. "
            f"The last category of the payee: {last_right / max(last, 1):.1%} right for {last / every:.1%}."
        )

    def _parts(self) -> Iterable[ResultPart]:
        rows = self.months.to_dict("records")
        shown = pd.DataFrame([_shown(row) for row in rows])
        yield ResultPart([_HEADING, *map(_line, rows)], shown, max_rows=None)
        yield ResultPart([f"calibration error {self.calibration_error:.4f}"])

    def _content(self) -> Mapping[str, Any]:
        return {
            "precision": self.precision,
            "calibration_error": self.calibration_error,
            "calibration": [one._asdict() for one in self.calibration],
            "months": self.months.astype(dict.fromkeys(_SHARES, object)),  # not amounts
            "notes": list(self.notes),
        }


def backtest(
    history: pd.DataFrame | LocalBooks, ledgers: pd.DataFrame | None = None, *, precision: float = PRECISION
) -> Backtest:
    """Calculate what :func:`suggest` would have suggested for each past month, and compare it with the categories.

    For each month only earlier transactions are used: for the votes, for the threshold and for the confidence. The
    categories that the books have now count as right, so a mistake in the books is a mistake of the suggestion.

    Parameters
    ----------
    history : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries` of the ledgers that report cash flow, or local books.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`; local books have their own.
    precision : float, default 0.98
        Share of the suggestions that must be right.

    Returns
    -------
    Backtest
        ``frame`` has for each month how many transactions and how much money suggestions cover, how many were right,
        with the one-sided bounds of 95 % confidence, and the same for the last category of the payee, which has no
        threshold.

    Raises
    ------
    InputError
        An argument is of another type, or `precision` is not a share.
    FrameError
        A frame is not valid.

    Examples
    --------
    ::

        backtest(line_entries, ledgers).frame
    """
    lines, chart = lines_of(history), ledgers_of(history, ledgers)
    require_type(chart, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    check_precision(precision)
    past = read_past(lines, Ledgers.checked(chart))
    votes = past.vote(past.compared, before_month=True)
    months = [_TestedMonth(past, votes, month, precision) for month in np.unique(past.compared["month"])[1:]]
    rows = [month.row() for month in months]
    columns = {name: [row[name] for row in rows] for name in BacktestMonths.dtypes()}
    scale = decimal_scale(past.rows["amount"]) or 0
    frame = BacktestMonths.from_columns(columns, scale, as_decimals=is_decimal(lines["signed_amount"].dtype))
    confidence = np.concatenate([np.empty(0), *(month.confidence for month in months)])
    right = np.concatenate([np.empty(0), *(month.right for month in months)])
    return Backtest(precision, frame, tuple(_calibration(confidence, right)), tuple(_silent(months)))


class _TestedMonth:
    """A month of the past, and what would have been suggested for it."""

    def __init__(self, past: PastTransactions, votes: Votes, month: int, precision: float) -> None:
        trials = Trials.of(past, votes).before(month)
        self.name = month_name(month)
        self.threshold = choose_threshold(trials, precision)
        self._precision = precision
        is_month = past.compared["month"].to_numpy() == month
        share = np.inf if self.threshold.share is None else self.threshold.share
        suggested = is_month & can_be_suggested(votes) & (votes.shares >= share)
        self.right = (votes.categories == past.codes)[suggested]
        self.confidence = Confidence(trials).of(votes.shares[suggested])
        self._has_last = is_month & (votes.last >= 0)
        self._last_right = self._has_last & (votes.last == past.codes)
        self._amount = _sum(past.rows["amount"][is_month])
        self._suggested_amount = _sum(past.rows["amount"][suggested])
        self._count = int(is_month.sum())

    def row(self) -> dict[str, Any]:
        """Row of the table of months."""
        count, right = len(self.right), int(self.right.sum())
        most = upper_bound(right, count)
        return {
            "month": self.name,
            "transaction_count": self._count,
            "suggested_count": count,
            "right_count": right,
            "coverage": count / self._count,
            "amount": self._amount,
            "suggested_amount": self._suggested_amount,
            "amount_coverage": _share_of(self._suggested_amount, self._amount),
            "precision": right / count if count else None,
            "precision_low": lower_bound(right, count) if count else None,
            "precision_high": most if count else None,
            "kept": most >= self._precision,
            "mean_confidence": float(self.confidence.mean()) if count else None,
            "last_count": int(self._has_last.sum()),
            "last_right_count": int(self._last_right.sum()),
        }


def _sum(amounts: pd.Series[Any]) -> Decimal:
    """Sum of amounts without their signs."""
    with localcontext(EXACT):
        return sum((amount.copy_abs() for amount in amounts), Decimal(0))


def _share_of(part: Decimal, whole: Decimal) -> float:
    return float(part / whole) if whole else 0.0


def _calibration(confidence: Numbers, right: Numbers) -> Iterator[CalibrationBin]:
    order = np.argsort(confidence, kind="stable")
    for one in np.array_split(order, _BINS):
        if len(one):
            yield CalibrationBin(float(confidence[one].mean()), float(right[one].mean()), len(one))


def _silent(months: Iterable[_TestedMonth]) -> Iterator[str]:
    """Yield a sentence for each month without suggestions."""
    for month in months:
        if month.threshold.share is None:
            yield f"{month.name}: {month.threshold.sentence}"


def _shown(row: Mapping[Any, Any]) -> dict[str, str]:
    """Format a month as people read it."""
    has = bool(row["suggested_count"])
    return {
        "month": row["month"],
        "suggested": f"{row['suggested_count']:,} of {row['transaction_count']:,}",
        "of money": f"{row['amount_coverage']:.1%}",
        "right": f"{row['precision']:.1%}" if has else "-",
        "95 % bounds": f"{row['precision_low']:.1%} to {row['precision_high']:.1%}" if has else "-",
        "last category": f"{row['last_right_count']:,} of {row['last_count']:,}",
    }


def _line(row: Mapping[Any, Any]) -> str:
    month, suggested, money, right, bounds, last = _shown(row).values()
    return f"{month:7}  {suggested:>15}  {money:>8}  {right:>7}  {bounds:>15}  {last:>14}"
