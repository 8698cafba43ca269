"""Names that load on first use, and the garbage collector meanwhile."""

import gc
import subprocess
import sys
from contextlib import suppress

import pytest

from accounting_analytics.first_use import collector_paused


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_left_as_it_was(collecting):
    """Whatever happens meanwhile, the collector is on again afterwards, unless it was off before."""
    if not collecting:
        gc.disable()
    try:
        with suppress(RuntimeError), collector_paused():
            during = gc.isenabled()
            raise RuntimeError
        assert (during, gc.isenabled()) == (False, collecting)
    finally:
        gc.enable()


def test_nothing_is_collected_while_a_name_loads():
    """The first use of a name imports much, and nothing of that is garbage."""
    code = (
        "import gc, accounting_analytics as aa\n"
        "seen = []\n"
        "gc.collect(); gc.callbacks.append(lambda phase, info: seen.append(phase))\n"
        "aa.recompute_cash_flow\n"
        "gc.callbacks.clear(); print(len(seen), gc.isenabled())\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 (our own words)
    count, collecting = told.stdout.split()
    assert int(count) <= 2  # one collection may begin and end when the collector is on again
    assert collecting == "True"
