"""What a program says: messages on one line, errors with exit codes, missing packages, progress bars."""

import decimal
import inspect
import pickle
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from accounting_analytics import errors
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.extras import import_extra
from accounting_analytics.core.messages import first_lines, fit_terminal, join_ids, printable, quote, shorten
from accounting_analytics.core.progress import LoadProgress, progress_bar


@pytest.mark.parametrize(
    ("ids", "limit", "text"),
    [
        ([], 5, ""),
        (["b", "a"], 5, "a, b"),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c", "d"], 2, "a, b and 2 more"),
        ((identifier for identifier in (1, None)), 5, "1, None"),
    ],
)
def test_join_ids_sorts_and_counts_the_others(ids, limit, text):
    assert join_ids(ids, limit=limit) == text


def test_first_lines_counts_the_others():
    assert first_lines(["a", "b"], limit=2) == ["a", "b"]
    assert first_lines(["a", "b", "c", "d"], limit=2) == ["a", "b", "and 2 more"]


def test_shorten_cuts_to_the_limit():
    assert shorten("12345", limit=5) == "12345"
    assert shorten("123456", limit=5) == "12..."


def test_quote_is_python_syntax_within_the_limit():
    assert quote("a\nb") == r"'a\nb'"
    assert quote(1.5) == "1.5"
    assert quote(np.array([[1], [2]])) == "array([[1],        [2]])"
    assert quote("x" * 100, limit=10) == "'xxxxxx..."
    assert len(quote("x" * 100)) == 60


def test_printable_replaces_marks_and_keeps_letters():
    assert printable("\x1b[2Jred\n\u202e") == "\ufffd[2Jred\ufffd\ufffd"
    assert printable("a\tb", " ") == "a b"
    assert printable("Café 東京 1") == "Café 東京 1"


def test_fit_terminal_wraps_words_and_counts_lines():
    assert fit_terminal("a\n\nb") == "a\n\nb"
    assert fit_terminal("x" * 100) == "x" * 100
    table = f"{'a':<40}{'b':>40}"
    assert fit_terminal(table) == table
    assert fit_terminal(f"- {'word ' * 20}").splitlines() == [
        f"- {'word ' * 15}word"[:77].rstrip(),
        f"  {'word ' * 5}".rstrip(),
    ]
    assert fit_terminal("line\n" * 30) == "\n".join(["line"] * 30)
    assert fit_terminal("line\n" * 31).splitlines()[28:] == ["line", "... and 2 more lines: see explain()"]


CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == errors.__name__
]
STATUS_CLASSES = [kind for kind in CLASSES if issubclass(kind, errors.StatusError)]


def drawn():
    """Name, depth and exit code (None where it is not drawn) of each class in the tree."""
    for line in inspect.getdoc(errors).splitlines():
        match = re.match(r"^(?P<indent>\s*(?:[|`]?[ -]*)*?)(?P<name>[A-Z]\w+Error)\b(?P<rest>.*)$", line)
        if match:
            code = re.match(r"\s+(?:exit code|(\d))\b", match["rest"])
            yield match["name"], len(match["indent"]) // 3, code and code[1]


def test_drawing_has_every_class_under_its_base():
    (_, root, _), *_ = tree = list(drawn())
    path, bases = [], {}
    for name, depth, _ in tree:
        del path[depth - root :]
        bases[name] = path[-1] if path else "Exception"
        path.append(name)
    assert bases == {kind.__name__: kind.__bases__[0].__name__ for kind in CLASSES}


def test_the_drawing_gives_the_exit_codes():
    codes = {name: int(code) for name, _, code in drawn() if code}
    assert len(codes) >= 7
    assert codes == {name: getattr(errors, name).exit_code for name in codes}
    assert {kind.__name__ for kind in errors.AccountingAnalyticsError.__subclasses__()} <= codes.keys()
    assert {kind.exit_code for kind in CLASSES} == set(range(1, 7))


def test_status_errors_survive_pickling():
    for kind in STATUS_CLASSES:
        error = kind("no such ledger 'led_1'", status=404, error_code="ledger_not_found")
        for one in (error, errors.with_context(error, "3 windows are saved")):
            again = pickle.loads(pickle.dumps(one))  # noqa: S301 (pickled on this line)
            assert type(again) is kind
            assert (str(again), again.status, again.error_code) == (str(one), 404, "ledger_not_found")
    assert str(one) == "no such ledger 'led_1'; 3 windows are saved"


def test_a_refused_operation_keeps_its_details():
    detail = [{"loc": ["query", "limit"], "msg": "1 to 1000", "type": "range"}]
    error = errors.OperationRefusedError("limit", status=422, error_code="invalid", detail=detail)
    assert (error.status, error.error_code, error.detail) == (422, "invalid", detail)
    assert errors.OperationRefusedError("gone", status=404, error_code="ledger_not_found").detail == []


def test_an_installed_package_is_returned():
    assert import_extra("decimal", "excel", "a test") is decimal


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError) as caught:
        import_extra("xlsxwriter", "excel", "an Excel workbook")
    assert str(caught.value) == "an Excel workbook needs xlsxwriter: pip install 'accounting-analytics[excel]'"


REQUESTS_LEFT = 17


def test_expected_total_grows_and_is_corrected(capsys):
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


def test_progress_bar_is_shown_in_terminals_and_notebooks(capsys, monkeypatch):
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
