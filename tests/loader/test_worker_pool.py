"""The worker pool: work in parallel that may split, and that stops at the first error."""

import threading

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.loader.worker_pool import WorkerPool, check_in_flight


def test_results_are_those_of_all_pieces():
    """Pieces that split are replaced by smaller ones, and every result is returned once."""

    def halve(size):
        return [size // 2, size - size // 2] if size > 1 else size

    pool = WorkerPool(halve, size=lambda size: size, threads=4)
    assert list(pool.results([5, 1, 8])) == [1] * 14


def test_the_largest_piece_is_done_first():
    """One thread works in the order of size."""
    pool = WorkerPool(lambda size: size, size=lambda size: size, threads=1)
    assert list(pool.results([2, 9, 4])) == [9, 4, 2]


def test_work_is_done_in_parallel():
    """As many pieces as threads are done in parallel."""
    meeting = threading.Barrier(3)
    pool = WorkerPool(lambda _: meeting.wait(timeout=60), size=lambda _: 1, threads=3)
    assert sorted(pool.results(range(3))) == [0, 1, 2]


def test_the_first_error_stops_all_work():
    """An error is raised, `stop` is set, and queued pieces are not done."""
    done, stop = [], threading.Event()

    def fail(piece):
        done.append(piece)
        msg = f"piece {piece}"
        raise ValueError(msg)

    pool = WorkerPool(fail, size=lambda size: size, threads=1, stop=stop)
    with pytest.raises(ValueError, match="piece 3"):
        list(pool.results([1, 2, 3]))
    assert stop.is_set()
    assert done[0] == 3


def test_no_work_has_no_results():
    """Without pieces there is nothing to wait for."""
    assert list(WorkerPool(lambda piece: piece, size=lambda _: 1, threads=2).results([])) == []


@pytest.mark.parametrize("in_flight", [0, -1, True, 1.5, None])
def test_in_flight_must_be_a_positive_whole_number(in_flight):
    """Anything else is refused."""
    with pytest.raises(InputError, match="in_flight must be a whole number of at least 1"):
        check_in_flight(in_flight)
    assert check_in_flight(3) == 3
