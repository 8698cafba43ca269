"""The picture of a backtest."""

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError
from accounting_analytics.schemas import BacktestMonths


def month(name, right, count, **changes):
    """Return a row of the table of months."""
    share = right / count if count else None
    return {
        "month": name,
        "transaction_count": 100,
        "suggested_count": count,
        "right_count": right,
        "coverage": count / 100,
        "amount": 1000.0,
        "suggested_amount": 10.0 * count,
        "amount_coverage": count / 100,
        "precision": share,
        "precision_low": share and share - 0.04,
        "precision_high": share and min(1, share + 0.02),
        "kept": True,
        "mean_confidence": share,
        "last_count": 95,
        "last_right_count": 90,
    } | changes  # fmt: skip


def make_backtest(*months):
    """Return a backtest of months."""
    frame = pd.DataFrame([*months, month("2025-12", 1, 1)]).astype(BacktestMonths.dtypes()).head(len(months))
    return aa.Backtest(0.98, frame, ())


def test_marks_are_those_of_the_months():
    """Each month has its precision with both bounds and its coverage; a silent one has no dot and no precision."""
    figure = aa.charts.backtest(
        make_backtest(month("2026-01", 0, 0), month("2026-02", 78, 80), month("2026-03", 90, 90))
    )
    last, dots, rows, money = figure.data
    assert list(dots.x) == ["2026-02", "2026-03"]
    assert list(dots.y) == [0.975, 1.0]
    assert dots.error_y.arrayminus == pytest.approx((0.04, 0.04))
    assert dots.error_y.array == pytest.approx((0.02, 0.0))
    assert list(dots.customdata[0]) == ["2026-02", "78 of 80 right (97.5%)"]
    assert list(last.y) == pytest.approx([90 / 95] * 3)
    assert list(rows.y) == list(money.y) == [0, 0.8, 0.9]
    assert "1 month(s) without suggestions" in figure.layout.title.subtitle.text


def test_low_precision_is_inside_the_axis():
    """The axis begins below the lowest bound."""
    figure = aa.charts.backtest(make_backtest(month("2026-01", 40, 80)))
    assert figure.layout.yaxis.range[0] < 0.46
    assert figure.layout.xaxis.type == "category"


def test_what_cannot_be_drawn_is_refused():
    """Something else than a backtest, and one without months, are refused with a sentence."""
    with pytest.raises(InputError, match="must be a Backtest"):
        aa.charts.backtest("books")
    with pytest.raises(InputError, match="no months to draw"):
        aa.charts.backtest(make_backtest())
