"""Suggestions of categories from the history of payees, with the precision that they had in past months.

Each past transaction is judged by those of the months before its own, as if its category were not known. The threshold
is the lowest share of the votes from which on the suggestions were right often enough, with the lower bound of 95 %
confidence. Where no threshold is, or where the suggestions of the last month were right too rarely, there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.choices import Choice, proposals_of
from accounting_analytics.categorization.payee_history import PastTransactions, compared_columns
from accounting_analytics.categorization.queue import categorized_transactions, exact_queue, with_groups
from accounting_analytics.column_conversion import decimal_scale, is_decimal
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.local_books import ledgers_of, lines_of
from accounting_analytics.messages import count_of
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import BacktestMonths, Ledgers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from accounting_analytics.categorization.payee_history import Votes
    from accounting_analytics.local_books import LocalBooks

    Numbers = npt.NDArray[Any]

MIN_SHARE = 2 / 3
"""Smallest share of the votes that can be suggested, whatever the past."""
MONTHS = 24
"""Latest months that a threshold is chosen on."""
_STEPS = 60
_MAX_BINS = 40
_MIN_BIN = 40


ERROR_RATE = 0.05
_HALVINGS = 40


def lower_bound(right: int, count: int) -> float:
    """Share that the true one is at least, with 95 % confidence; 0 for no count."""
    return 1 - upper_bound(count - right, count)


def upper_bound(right: int, count: int) -> float:
    """Share that the true one is at most, with 95 % confidence; 1 for no count."""
    if right >= count:
        return 1.0
    low, high = right / count, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_of_at_most(right, count, middle) > ERROR_RATE else (low, middle)
    return high


def is_at_least(share: float, right: int, count: int) -> bool:
    """Whether the lower bound reaches a share."""
    return (
        right >= share * count and count > 0 and _probability_of_at_most(count - right, count, 1 - share) <= ERROR_RATE
    )


def smallest_count(share: float) -> int:
    """Smallest count, all of it right, whose lower bound reaches a share."""
    return math.ceil(math.log(ERROR_RATE) / math.log(share))


def _probability_of_at_most(successes: int, count: int, probability: float) -> float:
    """Binomial distribution function; the terms are sums of logarithms, which do not underflow."""
    if probability >= 1:
        return float(successes >= count)
    ways = math.lgamma(count + 1)
    chance, other = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(ways - math.lgamma(one + 1) - math.lgamma(count - one + 1) + one * chance + (count - one) * other)
        for one in range(successes + 1)
    )


def can_be_suggested(votes: Votes) -> Numbers:
    """Whether the votes about each row are for one category in the first place."""
    possible: Numbers = (votes.categories >= 0) & (votes.shares >= MIN_SHARE)
    return possible


class Trials(NamedTuple):
    """Past transactions that could have been suggested: month, share of the votes, whether that was right."""

    months: Numbers
    shares: Numbers
    right: Numbers

    @classmethod
    def of(cls, past: PastTransactions, votes: Votes) -> Trials:
        """Compare the votes about past transactions, of those before their months, with their categories."""
        possible = can_be_suggested(votes)
        months = past.compared["month"].to_numpy()
        return cls(months[possible], votes.shares[possible], (votes.categories == past.codes)[possible])

    def before(self, month: int) -> Trials:
        """Trials of the 24 months before a month."""
        is_before = (self.months < month) & (self.months >= month - MONTHS)
        return Trials(*(column[is_before] for column in self))

    def latest(self) -> Trials:
        """Trials of the latest 24 months."""
        return self.before(int(self.months.max()) + 1) if len(self.months) else self

    def from_share(self, share: float) -> Trials:
        """Trials of at least a share of the votes."""
        return Trials(*(column[self.shares >= share] for column in self))


def month_name(month: int) -> str:
    """Write the number of a month as ``2026-05``."""
    return f"{month // 12}-{month % 12 + 1:02}"


class Threshold(NamedTuple):
    """Share of the votes that a suggestion needs, None where there are none, and the sentence that says why."""

    share: float | None
    sentence: str


def choose_threshold(trials: Trials, precision: float) -> Threshold:
    """Choose the lowest share of the votes from which on past suggestions kept a precision."""
    needed = smallest_count(precision)
    if len(trials.right) < needed:
        return Threshold(
            None,
            f"There are no suggestions: a precision of {precision:.1%} can be checked from {needed:,} past "
            f"transactions on whose payee had others before, and there are {len(trials.right):,}.",
        )
    found = _lowest_share(trials, precision, needed)
    if found is None:
        surest = np.argsort(-trials.shares, kind="stable")[:needed]
        best = int(trials.right[surest].sum())
        return Threshold(
            None,
            f"There are no suggestions: of the {needed:,} surest past ones {best:,} would have been right, "
            f"which is at least {lower_bound(best, needed):.1%} with 95 % confidence, and {precision:.1%} is wanted.",
        )
    kept = trials.from_share(found)
    right, count = int(kept.right.sum()), len(kept.right)
    month = int(kept.months.max())
    newest = kept.right[kept.months == month]
    if (most := upper_bound(int(newest.sum()), len(newest))) < precision:
        return Threshold(
            None,
            f"There are no suggestions: those of {month_name(month)} would have been right in "
            f"{newest.sum():,} of {len(newest):,} cases, which is at most {most:.1%} with 95 % confidence, and "
            f"{precision:.1%} is wanted.",
        )
    return Threshold(
        found,
        f"Of {count:,} suggestions for the past {right:,} would have been right: {right / count:.1%}, at least "
        f"{lower_bound(right, count):.1%} with 95 % confidence.",
    )


def _lowest_share(trials: Trials, precision: float, needed: int) -> float | None:
    """Lowest of some shares, between which equally many trials are, whose trials kept the precision."""
    order = np.argsort(-trials.shares, kind="stable")
    shares, right = trials.shares[order], trials.right[order].cumsum()
    for count in np.unique(np.linspace(needed, len(shares), _STEPS).astype(int))[::-1]:
        with_equals = int(np.searchsorted(-shares, -shares[count - 1], side="right"))
        if is_at_least(precision, int(right[with_equals - 1]), with_equals):
            return float(shares[count - 1])
    return None


class Confidence:
    """Precision that past suggestions of each share of the votes had: rising with the share, from equal bins."""

    def __init__(self, trials: Trials) -> None:
        order = np.argsort(trials.shares, kind="stable")
        count = min(max(len(order) // _MIN_BIN, 1), _MAX_BINS)
        bins = [one for one in np.array_split(order, count) if len(one)]
        self._starts = np.array([trials.shares[one[0]] for one in bins][1:])
        self._levels = np.array(_rising([(float(trials.right[one].sum()), len(one)) for one in bins]) or [0.5])

    def of(self, shares: Numbers) -> Numbers:
        """Confidence of suggestions with these shares of the votes."""
        levels: Numbers = self._levels[np.searchsorted(self._starts, shares, side="right")]
        return levels


def _rising(bins: list[tuple[float, int]]) -> list[float]:
    """Share that is right in each bin; neighbours are pooled where it would fall (isotonic regression)."""
    pools: list[tuple[float, int, int]] = []
    for right, count in bins:
        pools.append((right, count, 1))
        while len(pools) > 1 and _share(pools[-2]) >= _share(pools[-1]):
            later, earlier = pools.pop(), pools.pop()
            pools.append((earlier[0] + later[0], earlier[1] + later[1], earlier[2] + later[2]))
    return [_share(pool) for pool in pools for _ in range(pool[2])]


def _share(pool: tuple[float, int, int]) -> float:
    """Share that is right, with half a case of each kind added, so that few cases are never certain."""
    return (pool[0] + 0.5) / (pool[1] + 1)


PRECISION = 0.98
_SMALLEST_PRECISION = 0.5
SUGGESTED = "suggested from history"
"""The column ``rule`` of a suggestion."""


def suggest(
    queue: pd.DataFrame,
    history: pd.DataFrame | LocalBooks,
    ledgers: pd.DataFrame,
    *,
    precision: float = PRECISION,
    unchecked: Iterable[str] = (),
) -> pd.DataFrame:
    """Suggest a category for each transaction of the queue whose payee has a clear history, if that kept a precision.

    The past transactions of the same payee and direction vote: recent ones count more, and so do those of a similar
    amount. What these votes would have suggested for each past month, from the months before it, decides which share of
    the votes is enough: the suggestions for the past must have been right as often as `precision`, with the one-sided
    lower bound of 95 % confidence. Where no share is enough, or the latest month was worse, there are no suggestions,
    and a note says why. A payee without a history, with a contradictory one, or that changed its category, has none.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    history : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries` of the ledgers that report cash flow, as for
        :func:`uncategorized_queue`, or local books; two years are enough. Transactions that are in the queue, are split
        or are transfers between two accounts are not part of the history.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    precision : float, default 0.98
        Share of the suggestions that must be right, at least 0.5 and less than 1.
    unchecked : iterable of str, optional
        Ids of transactions whose category was suggested and that no person has checked. Nothing is learned from them,
        so that a mistake does not confirm itself.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue with a suggestion, with ``confidence``,
        the share of past suggestions with such votes that was right, and ``reason``, the votes and the past
        transactions that counted most. ``attrs["notes"]`` states the precision for the past or why there are no
        suggestions, and how many transactions have none. Likely transfers and splits have none.

    Raises
    ------
    InputError
        An argument is of another type, or `precision` is not a share.
    FrameError
        A frame is not valid, or has a transaction more than once.

    Examples
    --------
    ::

        suggestions = suggest(queue, history, ledgers, precision=0.98)
        proposals = propose(queue, rules, ledgers, suggestions=suggestions)
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    check_precision(precision)
    exact, ledgers = exact_queue(queue), Ledgers.checked(ledgers)
    chart = Categories(ledgers, set(exact.frame["category_ledger_id"]))
    rows = with_groups(exact.frame)
    lines = lines_of(history)
    past = read_past(lines, ledgers, without={*rows["transaction_id"], *unchecked})
    asked = rows[rows["kind"] == "merchant"]
    trials = Trials.of(past, past.vote(past.compared, before_month=True)).latest()
    threshold = choose_threshold(trials, precision)
    compared = compared_columns(asked)
    votes = past.vote(compared)
    is_suggested = can_be_suggested(votes) & (votes.shares >= (np.inf if threshold.share is None else threshold.share))
    found = np.flatnonzero(is_suggested)
    columns = (
        asked.index[found],
        asked["transaction_id"].iloc[found],
        past.categories[votes.categories[found]],
        _reasons(past, votes, found, compared["merchant"], chart),
        Confidence(trials).of(votes.shares[found]),
    )
    chosen = {
        row: Choice(key, category, SUGGESTED, reason, confidence)
        for row, key, category, reason, confidence in zip(*columns, strict=True)
    }
    proposals, doubts = proposals_of(exact.frame, chosen, chart, exact)
    notes = [*exact.notes, threshold.sentence, *_notes(asked, votes, len(found), silent=threshold.share is None)]
    attach_notes(proposals, [*notes, *doubts], queue, lines)
    return proposals


def check_precision(precision: float) -> None:
    """Refuse what is not a share that can be kept."""
    if (
        isinstance(precision, bool)
        or not isinstance(precision, int | float)
        or not _SMALLEST_PRECISION <= precision < 1
    ):
        raise InputError(f"precision is {precision!r}, not a share from 0.5 up to, but not including, 1, such as 0.98")


def read_past(lines: Any, ledgers: pd.DataFrame, *, without: Iterable[str] = ()) -> PastTransactions:  # noqa: ANN401 (any frame)
    """Read the transactions that have one category, which is among the ledgers."""
    require_type(lines, pd.DataFrame, "history", "load_line_entries(client, ...) returns line entries")
    if "opposing_ledger_ids" not in lines:
        raise FrameError("history has no opposing_ledger_ids; load it with expand=('opposing_ledger_ids', ...)")
    rows = categorized_transactions(lines, ledgers)
    is_known = rows["category_ledger_id"].isin(ledgers["id"]) & ~rows["transaction_id"].isin(set(without))
    return PastTransactions(rows[is_known].reset_index(drop=True))


def _reasons(
    past: PastTransactions, votes: Votes, found: npt.NDArray[Any], asked: pd.Series[Any], chart: Categories
) -> Iterator[str]:
    """Yield the votes for each suggestion, whose they are if not the payee's own, and those that counted most."""
    days = past.compared["day"].to_numpy().astype("datetime64[D]").astype(str)
    payees, amounts = past.compared["merchant"].to_numpy(), past.rows["transaction_amount"].to_numpy()
    names = [chart.names.name(one) for one in past.categories]
    for row, payee in zip(found, asked.iloc[found], strict=True):
        nearest = [one for one in votes.nearest[row] if one >= 0]
        listed = [f"{days[one]} {format_amount(amounts[one])} {names[past.codes[one]]}" for one in nearest]
        other = payees[nearest[0]]
        whose = "" if other == payee else f" of {other}"
        what = names[votes.categories[row]]
        count = f"{votes.agreeing[row]} of {count_of(votes.voting[row], 'past transaction')}{whose}"
        yield f"{count} in {what}: {', '.join(listed)}"


def _notes(asked: pd.DataFrame, votes: Votes, count: int, *, silent: bool) -> Iterator[str]:
    """Yield how many transactions have a suggestion, and why the others do not."""
    if silent or asked.empty:
        return
    without, unclear = int((votes.voting == 0).sum()), len(asked) - count - int((votes.voting == 0).sum())
    reasons = [f"{without:,} are of payees without a history"] if without else []
    reasons += [f"for {unclear:,} the history is not clear enough"] if unclear else []
    got = f"{count:,} of {count_of(len(asked), 'transaction')} got a suggestion"
    yield f"{'; '.join(filter(None, [got, ', '.join(reasons)]))}."


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
    scale = decimal_scale(past.rows["transaction_amount"]) or 0
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
        self._amount = _sum(past.rows["transaction_amount"][is_month])
        self._suggested_amount = _sum(past.rows["transaction_amount"][suggested])
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
