"""Packages that extras install, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from accounting_analytics.errors import InputError


def import_extra(module: str, extra: str, purpose: str) -> Any:  # noqa: ANN401 (any module)
    """Import a package that an extra installs.

    Parameters
    ----------
    module : str
        The package.
    extra : str
        The extra of this package that installs it.
    purpose : str
        What needs it, for the message.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        msg = f"{purpose} needs {module}: pip install 'accounting-analytics[{extra}]'"
        raise InputError(msg) from None
