import threading
from contextlib import ExitStack

import pytest

from leasepool import Hooks, Pool, PoolClosed, PoolTimeout, Stats


def lease_all(pool, stack, count):
    return [stack.enter_context(pool.lease(timeout=0)) for _ in range(count)]


def test_a_connection_is_opened_when_it_is_needed(server):
    pool = server.pool()
    assert server.opened == []
    with pool.lease() as connection:
        assert connection == "c1"
        assert pool.stats() == Stats(leased=1, idle=0, waiting=0, opened=1, closed=0)
    assert pool.stats() == Stats(leased=0, idle=1, waiting=0, opened=1, closed=0)


def test_a_connection_is_used_again(server):
    pool = server.pool()
    for _ in range(3):
        with pool.lease() as connection:
            assert connection == "c1"
    assert server.resets == ["c1", "c1", "c1"]


def test_the_one_given_back_last_is_leased_first(server):
    pool = server.pool()
    with pool.lease(), pool.lease() as second:
        assert second == "c2"
    with pool.lease() as connection:
        assert connection == "c1"


def test_there_are_never_more_than_the_limit(server):
    pool = server.pool(max_size=2)
    with ExitStack() as stack:
        assert lease_all(pool, stack, 2) == ["c1", "c2"]
        with pytest.raises(PoolTimeout, match="all 2 connections are leased, and none came back within 0 s"):
            lease_all(pool, stack, 1)
    assert pool.stats().size == 2


def test_a_waiting_thread_gets_what_is_given_back(server):
    pool = server.pool(max_size=1)
    got = []

    def wait():
        with pool.lease(timeout=10) as connection:
            got.append(connection)

    thread = threading.Thread(target=wait)
    with pool.lease():
        thread.start()
        while pool.stats().waiting == 0:
            threading.Event().wait(0.001)
    thread.join(10)
    assert got == ["c1"]
    assert pool.stats() == Stats(leased=0, idle=1, waiting=0, opened=1, closed=0)


def test_a_sick_connection_is_replaced(server):
    pool = server.pool()
    with pool.lease():
        pass
    server.sick.add("c1")
    with pool.lease() as connection:
        assert connection == "c2"
    assert server.closed == ["c1"]


def test_the_next_idle_one_is_tried_before_one_is_opened(server):
    pool = server.pool()
    with ExitStack() as stack:
        lease_all(pool, stack, 3)
    server.sick.update(["c1", "c2"])
    with pool.lease() as connection:
        assert connection == "c3"
    assert server.checks == ["c1", "c2", "c3"]
    assert pool.stats() == Stats(leased=0, idle=1, waiting=0, opened=3, closed=2)


def test_a_fresh_return_is_trusted(server):
    pool = server.pool(check_after=30)
    with pool.lease():
        pass
    server.now += 29
    with pool.lease():
        pass
    assert server.checks == []
    server.now += 30
    with pool.lease():
        pass
    assert server.checks == ["c1"]


def test_an_old_connection_is_not_leased_again(server):
    pool = server.pool(max_age=60)
    with pool.lease():
        pass
    server.now += 61
    with pool.lease() as connection:
        assert connection == "c2"
    assert server.closed == ["c1"]


def test_a_failure_to_open_reaches_the_caller_and_costs_nothing(server):
    failures = [OSError("refused"), OSError("refused")]

    def open_later():
        if failures:
            raise failures.pop()
        return server.open()

    pool = server.pool({"open": open_later}, max_size=1)
    for _ in range(2):
        with pytest.raises(OSError, match="refused"), pool.lease(timeout=0):
            pass
    with pool.lease(timeout=0) as connection:
        assert connection == "c1"


def test_an_error_of_the_caller_gives_the_connection_back(server):
    pool = server.pool(max_size=1)
    with pytest.raises(ZeroDivisionError), pool.lease():
        1 / 0
    assert pool.stats().idle == 1


def test_a_connection_that_cannot_be_reset_is_closed(server):
    def reset(connection):
        raise OSError("gone")

    pool = server.pool({"reset": reset}, max_size=1)
    with pool.lease():
        pass
    assert server.closed == ["c1"]
    assert pool.stats() == Stats(leased=0, idle=0, waiting=0, opened=1, closed=1)


def test_a_failure_to_close_is_ignored(server):
    def close(connection):
        raise OSError("gone")

    pool = server.pool({"close": close}, max_size=1)
    with pool.lease():
        pass
    server.sick.add("c1")
    with pool.lease(timeout=0) as connection:
        assert connection == "c2"


def test_pruning_closes_what_is_idle_for_long(server):
    pool = server.pool()
    with ExitStack() as stack:
        lease_all(pool, stack, 2)
    server.now += 50
    with pool.lease():
        pass
    assert pool.prune(10) == 1
    assert server.closed == ["c2"]


def test_closing_closes_the_idle_now_and_the_leased_later(server):
    pool = server.pool()
    with ExitStack() as stack:
        lease_all(pool, stack, 2)
    with pool.lease():
        pool.close()
        assert server.closed == ["c2"]
    assert server.closed == ["c2", "c1"]
    with pytest.raises(PoolClosed, match="the pool is closed"), pool.lease():
        pass


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="max_size is 0; give 1 or more"):
        Pool(Hooks(open=object), max_size=0)
