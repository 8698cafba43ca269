"""Fair shares: no holder takes the last places, and no waiter blocks another holder."""

import anyio
import pytest

from accounting_analytics.service.web.request_limits import FairLimiter


async def take(limiter, holder, count):
    """Acquire as many of `count` places as are given at once, and return how many."""
    taken = 0
    for _ in range(count):
        with anyio.move_on_after(0.01) as waiting:
            await limiter.acquire(holder)
        taken += not waiting.cancelled_caught
    return taken


@pytest.mark.parametrize(
    ("places", "alone", "second", "third"), [(1, 1, 0, 0), (2, 1, 1, 0), (4, 3, 1, 0), (16, 12, 3, 1), (40, 30, 7, 2)]
)
def test_shares(places, alone, second, third):
    """One holder alone gets at most three quarters; each further one gets less, while anything is free."""

    async def share():
        limiter = FairLimiter(places)
        return [await take(limiter, holder, places) for holder in "abc"]

    assert anyio.run(share) == [alone, second, third]


def test_a_released_place_is_given_to_the_first_who_may_have_it():
    """Waiters are served in order; one who has too many places waits, and those after it are served."""

    async def wait():
        limiter, served, steps = FairLimiter(4), [], []

        async def waiting(holder, name):
            await limiter.acquire(holder)
            served.append(name)

        assert await take(limiter, "a", 4) == 3
        await limiter.acquire("b")
        async with anyio.create_task_group() as tasks:
            for holder, name in (("a", "a1"), ("c", "c1"), ("c", "c2"), ("d", "d1")):
                tasks.start_soon(waiting, holder, name)
            await anyio.wait_all_tasks_blocked()
            for holder in "baaad":
                limiter.release(holder)
                await anyio.wait_all_tasks_blocked()
                steps.append(" ".join(served))
        return steps

    assert anyio.run(wait) == ["c1", "c1 d1", "c1 d1", "c1 d1 a1", "c1 d1 a1 c2"]


def test_a_waiter_that_gives_up_leaves_nothing():
    """Places are not lost when a waiter is cancelled, also at the moment when it gets a place."""

    async def hold(limiter, holder):
        async with limiter.place(holder):
            await anyio.sleep_forever()

    async def cancel():
        limiter = FairLimiter(1)
        await limiter.acquire("a")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, limiter, "b")
            tasks.start_soon(hold, limiter, "d")
            await anyio.wait_all_tasks_blocked()
            limiter.release("a")  # b gets the place now, and is cancelled before it continues
            tasks.cancel_scope.cancel()
        return await take(limiter, "c", 2)

    assert anyio.run(cancel) == 1
