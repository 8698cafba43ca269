"""Cases of a parametrized test that only long runs try (``make soak``)."""

import pytest


def also_long(*values):
    """Return values with the marker ``long``."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]
