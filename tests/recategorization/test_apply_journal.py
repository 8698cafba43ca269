"""The journal of a run: its content, how it is resumed, and what it refuses."""

import json
import threading

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import PlanError
from accounting_analytics.recategorization.apply_journal import ApplyJournal, open_journal

SERVICE = {"instance_id": "inst", "base_url": "http://127.0.0.1:1"}


def events(path):
    """Return the events of a journal."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def item(build):
    """Return the one item of a plan."""
    (one,) = build.plan(None, build.item("txn_1", "bank", "out", "meals")).items
    return one


def test_journal_is_enough_to_undo_a_run(books, plan, tmp_path):
    """The journal has the plan, the instance and, per item, its ledger, previous categories and who changed it."""
    aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True, modified_by="ana")
    header, *rest = events(tmp_path / "journal")
    assert (header["event"], header["plan_id"], header["instance_id"]) == ("plan", plan.plan_id, books.instance)
    intents = {event["transaction_id"]: event for event in rest if event["event"] == "intent"}
    assert set(intents) == set(plan.frame["transaction_id"])
    split = intents["txn_split"]
    assert split["before"] == sorted([books.outflow, books.rent])
    assert (split["category_ledger_id"], split["updated_category_ledger_id"]) == (books.outflow, books.meals)
    assert (split["ledger_id"], split["modified_by"]) == (books.bank, "ana")
    assert split["datetime"] == "2025-03-10T12:00:00+00:00"
    order = [event["event"] for event in rest if event.get("transaction_id") == "txn_split"]
    assert order == ["intent", "answer", "outcome"]
    assert books.token not in (tmp_path / "journal").read_text()


def test_intent_is_written_before_the_change(books, build, plan, tmp_path):
    """When a change is sent, its intent is already in the file."""
    seen = []

    def check_intent(_count, request):
        intents = [event for event in events(tmp_path / "journal") if event["event"] == "intent"]
        seen.append(intents[-1]["transaction_id"] in request.url.path)

    with books.connected(build.Faulty(on_put=check_intent)) as client:
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert seen == [True] * len(plan)


def test_last_event_decides(tmp_path, item):
    """An item is done if its last event says so; a later "not_done" revokes it."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **SERVICE) as journal:
        assert not journal.earlier_attempts.has_done(item)
        journal.append("intent", item)
    with open_journal(path, "p", **SERVICE) as journal:
        assert not journal.earlier_attempts.has_done(item)
        journal.append("answer", item)
    with open_journal(path, "p", **SERVICE) as journal:
        assert journal.earlier_attempts.has_done(item)
        journal.append("outcome", item, outcome="not_done", reason="")
    with open_journal(path, "p", **SERVICE) as journal:
        assert not journal.earlier_attempts.has_done(item)
        journal.append("outcome", item, outcome="done", reason="")
    with open_journal(path, "p", **SERVICE) as journal:
        assert journal.earlier_attempts.has_done(item)
        assert not journal.earlier_attempts.has_done(item._replace(updated_category_ledger_id="rent"))


@pytest.mark.parametrize("cut", [1, 10, 16, 20, 100])
def test_truncated_header_is_written_again(tmp_path, cut):
    """A journal whose first line was truncated by a crash starts again, because nothing was sent."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **SERVICE):
        pass
    path.write_bytes(path.read_bytes()[:cut])
    for _ in range(2):
        with open_journal(path, "p", **SERVICE):
            pass
    assert events_after_cut(path)[0]["event"] == "plan"


def events_after_cut(path):
    """Return the events that are complete."""
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]


def test_truncated_lines_are_skipped(tmp_path, item):
    """Lines truncated by crashes are skipped and stay in the file; the other events count."""
    path = tmp_path / "journal"
    for number in range(3):
        with open_journal(path, "p", **SERVICE) as journal:
            assert journal.earlier_attempts.has_done(item) == (number > 0)
            journal.append("answer", item)
        with path.open("ab") as file:
            file.write(b'{"event": "int\xff')
    with open_journal(path, "p", **SERVICE) as journal:
        assert journal.earlier_attempts.has_done(item)
    assert path.read_bytes().count(b"\xff") == 3


def test_damage_in_the_middle_is_refused(tmp_path, item):
    """A damaged line that is not the result of a crash is refused, and the message names the line."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **SERVICE) as journal:
        journal.append("intent", item)
        journal.append("answer", item)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(PlanError, match="line 2 cannot be read"), open_journal(path, "p", **SERVICE):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Dear diary\n", "not a journal"),
        (b"{}", "not a journal"),
        (b"\xff\xfe\x00", "not a journal"),
        (b"[" * 100_000, "not a journal"),
        (
            b'{"event": "plan", "format": 1, "plan_id": "p"}\n' + b'{"event":' * 100_000 + b"\n",
            "line 2 cannot be read, so it is not certain which changes are done",
        ),
        (b'{"event": "other"}\n', "not a journal that this version"),
        (b'{"event": "plan", "format": 99, "plan_id": "p"}\n', "not a journal that this version"),
        (b'{"event": "plan", "format": 1, "plan_id": "q"}\n', "another plan"),
        (b'{"event": "plan", "format": 1, "plan_id": "p", "instance_id": "x"}\n', "instance 'x'"),
    ],
)
def test_other_files_are_refused_and_unchanged(tmp_path, content, message):
    """A file that is not a journal, or belongs to another plan or instance, is refused and not written to."""
    path = tmp_path / "journal"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=message), open_journal(path, "p", **SERVICE):
        pass
    assert path.read_bytes() == content


def test_unwritable_paths_are_refused(tmp_path):
    """A folder, and a path below a file, are plan errors."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "journal"):
        with pytest.raises(PlanError, match=r"cannot be (written|read)"), open_journal(path, "p", **SERVICE):
            pass


def test_full_device_is_a_plan_error(tmp_path, item):
    """When the device is full, appending raises, so that nothing is sent."""
    with open("/dev/full", "ab", buffering=0) as full:  # noqa: PTH123 (unbuffered device)
        journal = ApplyJournal(full, tmp_path / "journal")
        with pytest.raises(PlanError, match="No space left"):
            journal.append("intent", item)


def test_one_run_at_a_time(tmp_path):
    """A second run with the same journal is refused while the first one is open, and accepted afterwards."""
    path = tmp_path / "journal"
    results = []

    def second():
        try:
            with open_journal(path, "p", **SERVICE):
                results.append("opened")
        except PlanError as error:
            results.append(str(error))

    with open_journal(path, "p", **SERVICE):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    second()
    assert "another run uses the journal" in results[0]
    assert results[1] == "opened"
