"""Packages of extras: imported when needed, and named with their extra when missing."""

import decimal
import sys

import pytest

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.extras import import_extra


def test_an_installed_package_is_returned():
    """The package itself, as an import statement gives it."""
    assert import_extra("decimal", "excel", "a test") is decimal


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    """The message says what needs the package, and how to install it."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError) as caught:
        import_extra("xlsxwriter", "excel", "an Excel workbook")
    assert str(caught.value) == "an Excel workbook needs xlsxwriter: pip install 'accounting-analytics[excel]'"
