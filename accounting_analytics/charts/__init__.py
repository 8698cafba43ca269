"""Charts: each function takes a report, statement, bridge or reconciled months, and returns a Plotly figure.

Each mark has the key of its figure, first in its ``customdata``: ``figure.mark(key).entries`` are the lines behind it.
Below a chart JupyterLab shows its table, folded; ``figure.table_html()`` is the table for other pages, and
:func:`static_picture` draws the chart without a browser.

The figures have no button that sends their amounts to another service. Plotly adds one ("Share chart...") to every
other figure; ``figure.update_layout(modebar_remove="sendChartToCloud")`` removes it.
"""

from accounting_analytics.charts.balance_charts import balances, running_balance
from accounting_analytics.charts.bridge import bridge
from accounting_analytics.charts.category_charts import outflow_heat_map, outflows_by_category
from accounting_analytics.charts.figure import Picture
from accounting_analytics.charts.inflow_outflow import inflow_outflow
from accounting_analytics.charts.reconciled_months import reconciled_months
from accounting_analytics.charts.static_pictures import static_picture
from accounting_analytics.charts.top_payees import top_payees
from accounting_analytics.charts.uncategorized_share import uncategorized_share
from accounting_analytics.charts.waterfall import waterfall

__all__ = [
    "Picture",
    "balances",
    "bridge",
    "inflow_outflow",
    "outflow_heat_map",
    "outflows_by_category",
    "reconciled_months",
    "running_balance",
    "static_picture",
    "top_payees",
    "uncategorized_share",
    "waterfall",
]


def __dir__() -> list[str]:
    """Return the charts, without the modules that have them."""
    return __all__
