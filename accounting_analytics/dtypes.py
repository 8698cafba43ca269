"""Dtypes of the columns of every table: ids and text, instants, lists of text, yes/no that may be unknown."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

TEXT = pd.StringDtype(na_value=float("nan"))
INSTANT = pd.DatetimeTZDtype(unit="us", tz="UTC")
TEXT_LIST = pd.ArrowDtype(pa.list_(pa.string()))
BOOLEAN = pd.BooleanDtype()
