"""Charts: each function takes a cash flow report, bridge, reconciled months or backtest, and returns a Plotly figure.

Each mark has the key of its figure, first in its ``customdata``: ``report[key].entries`` are the lines behind a bar.

The figures have no button that sends their amounts to another service. Plotly adds one ("Share chart...") to every
other figure; ``figure.update_layout(modebar_remove="sendChartToCloud")`` removes it.
"""

from accounting_analytics.charts.backtest import backtest
from accounting_analytics.charts.bridge import bridge
from accounting_analytics.charts.inflow_outflow import inflow_outflow
from accounting_analytics.charts.reconciled_months import reconciled_months
from accounting_analytics.charts.running_balance import running_balance
from accounting_analytics.charts.static_pictures import static_picture
from accounting_analytics.charts.waterfall import waterfall

__all__ = [
    "backtest",
    "bridge",
    "inflow_outflow",
    "reconciled_months",
    "running_balance",
    "static_picture",
    "waterfall",
]
