"""Errors: the tree in the module's docstring, exit codes, pickling."""

import inspect
import pickle
import re

from accounting_analytics import errors

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


def test_the_drawing_equals_the_classes():
    """Every class is drawn once, under its own base class."""
    path, bases = [], {}
    for name, depth, _ in drawn():
        del path[depth - drawn_root_depth() :]
        bases[name] = path[-1] if path else "Exception"
        path.append(name)
    assert bases == {kind.__name__: kind.__bases__[0].__name__ for kind in CLASSES}


def drawn_root_depth():
    """Indentation of the root of the tree."""
    return next(depth for _, depth, _ in drawn())


def test_the_drawing_gives_the_exit_codes():
    """The exit codes in the tree are those of the classes."""
    codes = {name: int(code) for name, _, code in drawn() if code}
    assert len(codes) >= 7
    assert codes == {name: getattr(errors, name).exit_code for name in codes}


def test_every_branch_is_drawn_with_its_exit_code():
    """Each class directly below the root has its exit code in the drawing, so that none gets 1 by accident."""
    with_code = {name for name, _, code in drawn() if code}
    assert {kind.__name__ for kind in errors.AccountingAnalyticsError.__subclasses__()} <= with_code


def test_exit_codes_are_those_of_the_design():
    """Every exit code is from 1 to 6."""
    assert {kind.exit_code for kind in CLASSES} == set(range(1, 7))


def test_status_errors_survive_pickling():
    """A worker process can return a status error with its attributes, also with context appended to its message."""
    for kind in STATUS_CLASSES:
        error = kind("no such ledger 'led_1'", status=404, error_code="ledger_not_found")
        for one in (error, errors.with_context(error, "3 windows are saved")):
            again = pickle.loads(pickle.dumps(one))  # noqa: S301 (pickled on this line)
            assert type(again) is kind
            assert (str(again), again.status, again.error_code) == (str(one), 404, "ledger_not_found")
    assert str(one) == "no such ledger 'led_1'; 3 windows are saved"


def test_a_refused_operation_keeps_its_details():
    """An error of the embedded service has status, code and the invalid values."""
    detail = [{"loc": ["query", "limit"], "msg": "1 to 1000", "type": "range"}]
    error = errors.OperationRefusedError("limit", status=422, error_code="invalid", detail=detail)
    assert (error.status, error.error_code, error.detail) == (422, "invalid", detail)
    assert errors.OperationRefusedError("gone", status=404, error_code="ledger_not_found").detail == []
