"""A small company from a fixed seed, served for real.

``accounting_analytics.demo`` is both this package and the function :func:`demo`: calling either starts the company.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from accounting_analytics.demo.company import DemoCompany, demo
from accounting_analytics.demo.lab import open_lab
from accounting_analytics.demo.tour import DemoSummary, run_demo

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DemoCompany", "DemoSummary", "demo", "open_lab", "run_demo"]


class _CallablePackage(ModuleType):
    """The package as the public function of its name, whichever of the two an import leaves in place."""

    def __call__(self, *, database: str | Path | None = None) -> DemoCompany:
        return demo(database=database)


sys.modules[__name__].__class__ = _CallablePackage
