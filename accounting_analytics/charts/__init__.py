"""Charts: each function takes a report, statement, bridge or outlook, and returns a Plotly figure.

Each mark has the key of its figure, first in its ``customdata``: ``figure.mark(key).entries`` are the lines behind it.
Below a chart JupyterLab shows its table, folded, where a press on a mark unfolds its figure; ``figure.table_html()`` is
the table for other pages, and :func:`static_picture` draws the chart without a browser.

The figures have no button that sends their amounts to another service. Plotly adds one ("Share chart...") to every
other figure; ``figure.update_layout(modebar_remove="sendChartToCloud")`` removes it.
"""

from accounting_analytics.charts.cash_charts import balances, bridge, inflow_outflow, running_balance, waterfall
from accounting_analytics.charts.category_charts import (
    outflow_heat_map,
    outflows_by_category,
    top_payees,
)
from accounting_analytics.charts.outlook_chart import outlook
from accounting_analytics.charts.picture import Picture, static_picture
from accounting_analytics.charts.statement_charts import margins, trend

__all__ = [
    "Picture",
    "balances",
    "bridge",
    "inflow_outflow",
    "margins",
    "outflow_heat_map",
    "outflows_by_category",
    "outlook",
    "running_balance",
    "static_picture",
    "top_payees",
    "trend",
    "waterfall",
]


def __dir__() -> list[str]:
    """Return the names of the charts, without the modules that define them."""
    return __all__
