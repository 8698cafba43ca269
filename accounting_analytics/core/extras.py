"""Imports of the packages that extras install."""

from __future__ import annotations

import importlib
from typing import Any

from accounting_analytics.core.errors import InputError


def import_extra(module: str, extra: str, purpose: str) -> Any:  # noqa: ANN401 (any module)
    """Import a package of an extra. If it is missing, the error names `purpose` and the extra."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{purpose} needs {module}: pip install 'accounting-analytics[{extra}]'") from None
