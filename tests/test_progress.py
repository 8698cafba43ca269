"""Progress of a load: how much is read, and how much is to come."""

import sys
import time
from types import SimpleNamespace

from accounting_analytics.progress import LoadProgress, progress_bar

CLIENT = SimpleNamespace(quota=SimpleNamespace(remaining=17))


def test_what_is_to_come_is_told(capsys):
    """Nothing is known at first; windows that turn out dense say what to expect, and what is read corrects it."""
    with LoadProgress(progress=True, client=CLIENT) as shown:
        shown.read(0)
        time.sleep(0.2)  # a bar is not drawn more often
        shown.read(400)
        assert shown.total is None
        shown.expect(5000)
        assert shown.total == 5400
        shown.read(900, expected=1000)
        assert shown.total == 5300
        shown.read(4400, expected=4000)
        assert shown.total == 5700
    said = capsys.readouterr().err
    assert "quota left 17" in said


def test_a_bar_only_where_somebody_watches(capsys, monkeypatch):
    """In batch there is silence; a terminal or a notebook shows a bar, unless it is told to run in batch."""
    monkeypatch.delenv("ACCOUNTING_ANALYTICS_BATCH", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert progress_bar(None).disable
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    with progress_bar(None) as bar:
        assert not bar.disable
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BATCH", "1")
    assert progress_bar(None).disable
    capsys.readouterr()
