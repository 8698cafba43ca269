"""Work in parallel that may split, and that stops at the first error."""

import threading

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.loader.parallel import check_in_flight, run_in_parallel


def test_results_are_those_of_all_pieces():
    """Pieces that split are replaced by smaller ones, and every result is returned once; no work has no results."""

    def halve(size):
        return [size // 2, size - size // 2] if size > 1 else size

    assert list(run_in_parallel(halve, [5, 1, 8], threads=4)) == [1] * 14
    assert list(run_in_parallel(halve, [], threads=4)) == []


def test_work_is_done_in_parallel():
    """As many pieces as threads are done in parallel."""
    meeting = threading.Barrier(3)
    assert sorted(run_in_parallel(lambda _: meeting.wait(timeout=60), range(3), threads=3)) == [0, 1, 2]


def test_the_first_error_stops_all_work():
    """An error is raised, `stop` is set, and queued pieces are not done."""
    done, stop = [], threading.Event()

    def fail(piece):
        done.append(piece)
        msg = f"piece {piece}"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="piece 1"):
        list(run_in_parallel(fail, [1, 2, 3], threads=1, stop=stop))
    assert stop.is_set()
    assert done[0] == 1


@pytest.mark.parametrize("in_flight", [0, -1, True, 1.5, None])
def test_in_flight_must_be_a_positive_whole_number(in_flight):
    """Anything else is refused."""
    with pytest.raises(InputError, match="in_flight must be a whole number of at least 1"):
        check_in_flight(in_flight)
    assert check_in_flight(3) == 3
