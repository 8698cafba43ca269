"""Progress bars: lines read, lines expected, and when a bar is shown."""

import sys
import time
from types import SimpleNamespace

from accounting_analytics.core.progress import LoadProgress, progress_bar

REQUESTS_LEFT = 17


def test_the_expected_total_is_corrected(capsys):
    """No total is known at first; windows with many lines set one, and lines that are read correct it."""
    with LoadProgress(progress=True, remaining=lambda: REQUESTS_LEFT) as progress:
        progress.update(0)
        time.sleep(0.2)  # tqdm redraws a bar at most every 0.1 seconds
        progress.update(400)
        assert progress.total is None
        progress.expect(5000)
        assert progress.total == 5400
        progress.update(900, expected=1000)
        assert progress.total == 5300
        progress.update(4400, expected=4000)
        assert progress.total == 5700
    assert "quota left 17" in capsys.readouterr().err


def test_when_a_bar_is_shown(capsys, monkeypatch):
    """A terminal or a notebook shows a bar, unless it runs in batch; anything else shows none."""
    monkeypatch.delenv("ACCOUNTING_ANALYTICS_BATCH", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert progress_bar(None).disable
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    shown = []
    display = SimpleNamespace(
        display=lambda content, **options: shown.append((content, options)),
        update_display=lambda content, **options: shown.append((content, options)),
    )
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress_bar(None, desc="months") as bar:
        assert not bar.disable
    assert "months" in shown[0][0]["text/plain"]
    assert shown[-1] == ({}, shown[0][1])  # nothing is left in the notebook
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BATCH", "1")
    assert progress_bar(None).disable
    assert capsys.readouterr().err == ""
