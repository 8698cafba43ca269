"""Charts: each function takes a cash flow report and returns a Plotly figure."""

from accounting_analytics.charts.inflow_outflow import inflow_outflow
from accounting_analytics.charts.running_balance import running_balance
from accounting_analytics.charts.waterfall import waterfall

__all__ = ["inflow_outflow", "running_balance", "waterfall"]
