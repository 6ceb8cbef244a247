"""The pool of compiled scenes, with stand-ins."""

import os

import pytest

from gym_grounding.adapters.libero.pool import Pool


class Thing:
    """Counts how often it was closed."""

    def __init__(self):
        self.closed = 0

    def close(self):
        self.closed += 1


def test_an_idle_thing_is_used_again_and_one_that_is_out_is_not():
    pool = Pool()
    first, second = pool.acquire("a", Thing), pool.acquire("a", Thing)
    assert first is not second
    pool.release("a", first)
    assert pool.acquire("b", Thing) is not first
    assert pool.acquire("a", Thing) is first


def test_the_longest_idle_thing_is_closed_when_there_are_too_many():
    pool = Pool(keep=2)
    things = {key: pool.acquire(key, Thing) for key in "ab"}
    for key, thing in things.items():
        pool.release(key, thing)
    pool.acquire("c", Thing)
    assert (things["a"].closed, things["b"].closed) == (1, 0)
    assert len(pool) == 1


def test_as_many_are_kept_as_were_ever_out_at_once():
    pool = Pool(keep=1)
    things = [pool.acquire("a", Thing) for _ in range(3)]
    for thing in things:
        pool.release("a", thing)
    assert [thing.closed for thing in things] == [0, 0, 0]
    assert {id(pool.acquire("a", Thing)) for _ in range(3)} == {id(thing) for thing in things}


def test_a_failed_build_does_not_count():
    pool = Pool(keep=1)

    def fail():
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            pool.acquire("a", fail)
    first, second = pool.acquire("a", Thing), Thing()
    pool.release("a", first)
    pool.release("b", second)
    assert (first.closed, second.closed) == (0, 0)


def test_a_broken_thing_is_closed_and_never_used_again():
    pool = Pool()
    broken = pool.acquire("a", Thing)
    pool.discard(broken)
    assert broken.closed == 1
    assert pool.acquire("a", Thing) is not broken


def test_at_exit_everything_is_closed_also_what_is_out():
    pool = Pool()
    out, idle = pool.acquire("a", Thing), pool.acquire("a", Thing)
    pool.release("a", idle)
    pool.close_all()
    assert (out.closed, idle.closed) == (1, 1)


def test_a_forked_child_forgets_without_closing():
    pool = Pool()
    idle, out = pool.acquire("a", Thing), pool.acquire("a", Thing)
    pool.release("a", idle)
    child = os.fork()
    if child == 0:
        forgotten = len(pool) == 0 and pool.acquire("a", Thing) not in (idle, out) and idle.closed == 0
        os._exit(0 if forgotten else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.acquire("a", Thing) is idle


def test_what_exists_can_be_looked_at_whether_it_is_out_or_idle():
    pool = Pool()
    assert pool.peek("a") is None
    thing = pool.acquire("a", Thing)
    assert pool.peek("a") is thing
    assert pool.peek("b") is None
    pool.release("a", thing)
    assert pool.peek("a") is thing
    pool.clear()
    assert pool.peek("a") is None


def test_a_discarded_thing_is_not_looked_at():
    pool = Pool()
    thing = pool.acquire("a", Thing)
    pool.discard(thing)
    assert pool.peek("a") is None
    assert thing.closed == 1
