"""The journal: what stands in it, what it goes on with, and what it refuses."""

import json
import threading

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import PlanError
from accounting_analytics.recategorization.apply_journal import Journal, open_journal

HERE = {"instance_id": "inst", "base_url": "http://127.0.0.1:1"}


def events(path):
    """Return the events of a journal."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def item(build):
    """Return the one item of a plan."""
    (one,) = build.plan(None, build.item("txn_1", "bank", "out", "meals")).items
    return one


def test_a_run_can_be_taken_back_from_its_journal(books, plan, tmp_path):
    """Plan, instance, and for each item where it is, what it was before and who changed it: enough to undo."""
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
    """When a change is on its way, its intent can already be read from the file."""
    seen = []

    def look(_count, request):
        waiting = [event for event in events(tmp_path / "journal") if event["event"] == "intent"]
        seen.append(waiting[-1]["transaction_id"] in request.url.path)

    with books.connected(build.Faulty(on_put=look)) as client:
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert seen == [True] * len(plan)


def test_last_word_decides(tmp_path, item):
    """Done is what was done last; a later "not done" takes it back."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **HERE) as journal:
        assert not journal.has_done(item)
        journal.note("intent", item)
    with open_journal(path, "p", **HERE) as journal:
        assert not journal.has_done(item)
        journal.note("answer", item)
    with open_journal(path, "p", **HERE) as journal:
        assert journal.has_done(item)
        journal.note("outcome", item, outcome="not_done", reason="")
    with open_journal(path, "p", **HERE) as journal:
        assert not journal.has_done(item)
        journal.note("outcome", item, outcome="done", reason="")
    with open_journal(path, "p", **HERE) as journal:
        assert journal.has_done(item)
        assert not journal.has_done(item._replace(updated_category_ledger_id="rent"))


@pytest.mark.parametrize("cut", [1, 10, 16, 20, 100])
def test_header_cut_short_starts_anew(tmp_path, cut):
    """A crash during the very first line leaves a journal that is simply begun again: nothing had been sent."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **HERE):
        pass
    path.write_bytes(path.read_bytes()[:cut])
    for _ in range(2):
        with open_journal(path, "p", **HERE):
            pass
    assert events_after_cut(path)[0]["event"] == "plan"


def events_after_cut(path):
    """Return the events that can be read."""
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]


def test_line_cut_short_is_passed_over_and_kept(tmp_path, item):
    """A crash in the middle of a line loses that line only, however often it happens."""
    path = tmp_path / "journal"
    for number in range(3):
        with open_journal(path, "p", **HERE) as journal:
            assert journal.has_done(item) == (number > 0)
            journal.note("answer", item)
        with path.open("ab") as file:
            file.write(b'{"event": "int\xff')
    with open_journal(path, "p", **HERE) as journal:
        assert journal.has_done(item)
    assert path.read_bytes().count(b"\xff") == 3


def test_damage_in_the_middle_is_refused(tmp_path, item):
    """A line that no crash cut short but cannot be read makes the journal uncertain: refused, naming the line."""
    path = tmp_path / "journal"
    with open_journal(path, "p", **HERE) as journal:
        journal.note("intent", item)
        journal.note("answer", item)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(PlanError, match="line 2 cannot be read"), open_journal(path, "p", **HERE):
        pass


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"Dear diary\n", "not a journal"),
        (b"{}", "not a journal"),
        (b"\xff\xfe\x00", "not a journal"),
        (b'{"event": "other"}\n', "not a journal that this version"),
        (b'{"event": "plan", "format": 99, "plan_id": "p"}\n', "not a journal that this version"),
        (b'{"event": "plan", "format": 1, "plan_id": "q"}\n', "another plan"),
        (b'{"event": "plan", "format": 1, "plan_id": "p", "instance_id": "x"}\n', "instance 'x'"),
    ],
)
def test_foreign_files_are_refused_and_left_as_they_are(tmp_path, content, said):
    """A file that is no journal, or the journal of something else, is refused and not written to."""
    path = tmp_path / "journal"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=said), open_journal(path, "p", **HERE):
        pass
    assert path.read_bytes() == content


def test_unwritable_places_are_refused(tmp_path):
    """A folder, and a place under a file: one clear line each."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "journal"):
        with pytest.raises(PlanError, match=r"cannot be (written|read)"), open_journal(path, "p", **HERE):
            pass


def test_full_device_is_a_plan_error(tmp_path, item):
    """When the device has no room, noting raises, so that nothing is sent."""
    with open("/dev/full", "ab", buffering=0) as full:  # noqa: PTH123 (unbuffered device)
        journal = Journal(full, tmp_path / "journal", set())
        with pytest.raises(PlanError, match="No space left"):
            journal.note("intent", item)


def test_one_run_at_a_time(tmp_path):
    """Two runs of one journal: the second is refused while the first is open, and welcome after it."""
    path = tmp_path / "journal"
    said = []

    def second():
        try:
            with open_journal(path, "p", **HERE):
                said.append("opened")
        except PlanError as error:
            said.append(str(error))

    with open_journal(path, "p", **HERE):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    second()
    assert "another run" in said[0]
    assert said[1] == "opened"
