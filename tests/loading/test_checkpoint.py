"""Checkpoints: bound to one load, used by one at a time, safe against damage, other files and a full disk."""

import json
import re
import shutil
import threading
from pathlib import Path

import httpx
import pytest
from resumable_loads import load_resumable, read_lines

import accounting_analytics as aa
from accounting_analytics.core.errors import ChangedWhileReadingError, CheckpointError, InputError, ServerFaultError

QUARTER = ("2025-01-01", "2025-03-31")
DAYS = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]


@pytest.fixture
def service(make_ledgers, spread):
    """Return two ledgers, one of which takes several windows."""
    return make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 10), "led_2": {"2025-01-05": 5}}), page_size=50)


def load_both(client, folder, *, days=QUARTER, ledger_ids=("led_1", "led_2"), **options):
    """Load both ledgers to a file beside the checkpoint, and read it."""
    return read_lines(load_resumable(client, ledger_ids, days, folder, **options))


def fail_after(service, count):
    """Return a handler that responds with 503 after so many requests."""
    lock, served = threading.Lock(), 0

    def answer(request):
        nonlocal served
        with lock:
            served += 1
            failed = served > count
        return httpx.Response(503) if failed else service(request)

    return answer


@pytest.mark.parametrize("count", [0, 5, 15])
def test_failed_load_continues_with_unfinished_windows(connected, service, tmp_path, count):
    folder = tmp_path / "kept"
    with pytest.raises(ServerFaultError, match=r"finished window.*safe in .*kept.*same arguments") as caught:
        load_both(connected(fail_after(service, count)), folder)
    safe = int(str(caught.value).partition(" finished window")[0].rpartition(" ")[2])
    assert safe == len(list(folder.glob("window-*.parquet")))
    client = connected(service)
    frame = load_both(client, folder)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)
    whole = aa.load_line_entries(connected(service), ["led_1", "led_2"], *QUARTER)
    assert frame.equals(whole)
    client.requests.clear()
    assert load_both(client, folder).equals(whole)
    assert client.requests == []


def test_the_order_of_ledgers_does_not_matter(connected, service, tmp_path):
    first = load_both(connected(service), tmp_path)
    client = connected(service)
    assert load_both(client, tmp_path, ledger_ids=["led_2", "led_1"]).equals(first)
    assert client.requests == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": ("2025-01-01", "2025-03-30")}, "end_date is"),
        ({"ledger_ids": ["led_1"]}, "ledger_ids is"),
        ({"time_zone": "Europe/Berlin"}, "time_zone is 'UTC', not 'Europe/Berlin'"),
        ({"is_cashflow": True}, "is_cashflow is"),
        ({"tag_ids": ["tag_1"]}, "tag_ids is"),
        ({"expand": ()}, "expand is"),
    ],
)
def test_the_checkpoint_of_another_load_is_refused(connected, service, tmp_path, change, message):
    load_both(connected(service), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    client = connected(service)
    with pytest.raises(CheckpointError, match=f"{message}.*another folder"):
        load_both(client, tmp_path, **change)
    assert client.requests == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_checkpoint_of_another_service_instance_or_scale_is_refused(connected, service, tmp_path):
    load_both(connected(service), tmp_path)
    transport = httpx.MockTransport(service)
    elsewhere = aa.LedgerClient("http://other.test", token="t", instance_id="ins_1", transport=transport)
    other = aa.LedgerClient("http://ledgers.test", token="t", instance_id="ins_2", transport=transport)
    for client, name in ((elsewhere, "base_url"), (other, "instance_id"), (connected(service, scale=3), "scale")):
        with pytest.raises(CheckpointError, match=f"its {name} is"):
            load_both(client, tmp_path)


def test_folders_with_other_files_are_refused(connected, service, tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(CheckpointError, match="contains files but no checkpoint"):
        load_both(connected(service), tmp_path)
    with pytest.raises(CheckpointError, match=r"cannot be used \(File exists\); no request was sent"):
        load_both(connected(service), tmp_path / "photo.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def truncate(path, _):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path, _):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def replace(path, other):
    """Replace a window by one of another load."""
    shutil.copy(other, path)


def duplicate(path, _):
    shutil.copy(path, path.with_name(f"window-{32 * '0'}.parquet"))


@pytest.mark.parametrize("damage", [truncate, flip, replace, duplicate])
def test_damaged_windows_are_refused_by_name(connected, service, tmp_path, damage):
    folder = tmp_path / "kept"
    whole = load_both(connected(service), folder)
    load_both(connected(service), tmp_path / "other", days=("2025-01-01", "2025-02-28"))
    window = sorted(folder.glob("window-*.parquet"))[2]
    damage(window, next((tmp_path / "other").glob("window-*.parquet")))
    with pytest.raises(
        CheckpointError, match=r"window-.*\.parquet is not part of this load.*delete that file"
    ) as caught:
        load_both(connected(service), folder)
    Path(str(caught.value).split(" is not part")[0]).unlink()
    client = connected(service)
    assert load_both(client, folder).equals(whole)
    assert len(client.requests) < 8


@pytest.mark.parametrize("content", ["{", "[" * 100_000], ids=["cut", "nested"])
def test_a_damaged_manifest_is_refused(connected, service, tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CheckpointError, match="damaged; delete the folder"):
        load_both(connected(service), tmp_path)


def test_a_checkpoint_in_use_is_refused(connected, service, tmp_path):
    started, may_finish = threading.Event(), threading.Event()

    def answer(request):
        started.set()
        may_finish.wait(10)
        return service(request)

    frames = []
    first = threading.Thread(target=lambda: frames.append(load_both(connected(answer), tmp_path)))
    first.start()
    started.wait(10)
    with pytest.raises(CheckpointError, match="another load is using the checkpoint"):
        load_both(connected(service), tmp_path)
    may_finish.set()
    first.join()
    assert len(frames[0]) == len(service.lines)


def test_no_file_is_named_after_an_id(connected, pages, line, tmp_path):
    evil = "../../etc/passwd"
    frame = load_both(connected(pages([line(1, ledger_id=evil)])), tmp_path / "kept", ledger_ids=[evil])
    assert frame["ledger_id"].tolist() == [evil]
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names[:2] == [".lock", "manifest.json"]
    assert re.fullmatch("window-[0-9a-f]{32}.parquet", names[2])
    assert len(names) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "kept.parquet"]


@pytest.mark.parametrize("fails_at", [1, 2, 4])
def test_a_full_disk_loses_nothing(connected, service, tmp_path, monkeypatch, fails_at):
    from accounting_analytics.core import atomic_files  # noqa: PLC0415 (to fill its disk)

    sync, calls, lock = atomic_files.os.fsync, 0, threading.Lock()

    def full(descriptor):
        nonlocal calls
        with lock:
            calls += 1
            failed = calls >= fails_at
        if failed:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(atomic_files.os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device"):
        load_both(connected(service), tmp_path)
    monkeypatch.setattr(atomic_files.os, "fsync", sync)
    assert list(tmp_path.glob("*.unfinished")) == []
    frame = load_both(connected(service), tmp_path)
    assert sorted(frame["id"]) == sorted(line["id"] for line in service.lines)


@pytest.mark.parametrize("name", ["window-000099.parquet.unfinished", "window-000099-ab.parquet.0123abcd.unfinished"])
def test_leftovers_of_a_killed_load_are_removed(connected, service, tmp_path, name):
    load_both(connected(service), tmp_path)
    (tmp_path / name).write_bytes(b"PAR1")
    assert len(load_both(connected(service), tmp_path)) == len(service.lines)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["manifest.json.unfinished", "manifest.json.0123abcd.unfinished"])
def test_a_load_killed_at_its_start_starts_again(connected, service, tmp_path, name):
    (tmp_path / name).write_bytes(b"{")
    assert len(load_both(connected(service), tmp_path)) == len(service.lines)


def test_stale_windows_leave_the_checkpoint(connected, service, tmp_path):
    def answer(request):
        response = service(request)
        last = any(line["id"] == "lin_led_1_2025-03-28_9" for line in response.json()["records"])
        if last and request.url.params["start_date"] > "2025-01-01":
            service.change(lambda lines: lines.append(lines[839] | {"id": "lin_new"}))
        return response

    with pytest.raises(ChangedWhileReadingError, match="led_1 changed"):
        load_both(connected(answer), tmp_path)
    client = connected(service)
    frame = load_both(client, tmp_path)
    assert "lin_new" in set(frame["id"])
    assert all("led_1" in request.url.path for request in client.requests)


def test_the_token_is_in_no_file(connected, service, tmp_path):
    load_both(connected(service), tmp_path)
    assert all(b"canary-token-value" not in path.read_bytes() for path in tmp_path.iterdir())
    assert json.loads((tmp_path / "manifest.json").read_text())["load"]["instance_id"] == "ins_1"


def test_a_nul_in_a_path_is_refused(connected):
    client = connected(lambda _: pytest.fail("a request was sent"))
    with pytest.raises(InputError, match=r"output 'a\\x00b' contains a NUL character"):
        aa.doctor(client, output="a\0b")
