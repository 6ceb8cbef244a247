"""Compiled scenes kept between episodes, so that a scene is built once per process and slot."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """Something that holds resources."""

    def close(self) -> None:
        """Free them; safe to call twice."""
        ...


Thing = TypeVar("Thing", bound=Closable)


class Pool(Generic[Thing]):
    """Idle things by key. A thing that is out belongs to one user alone.

    The number of things, idle ones included, stays at the largest number that was ever out at once, and at least
    ``keep``; the ones longest idle are closed first. A forked child forgets what its parent made: GL contexts and
    locks in it are unusable there.

    Args:
        keep: how many things may exist whatever the use.
    """

    def __init__(self, keep: int = 4) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._idle: list[tuple[Hashable, Thing]] = []
        self._all: weakref.WeakSet[Thing] = weakref.WeakSet()
        self._keys: weakref.WeakKeyDictionary[Thing, Hashable] = weakref.WeakKeyDictionary()
        self._out = self._peak = 0
        self._inherited: list[object] = []
        os.register_at_fork(after_in_child=self._forget)

    def acquire(self, key: Hashable, build: Callable[[], Thing]) -> Thing:
        """An idle thing of that key, or a new one."""
        with self._lock:
            self._out += 1
            self._peak = max(self._peak, self._out)
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index][0] == key:
                    return self._idle.pop(index)[1]
            evicted = self._evict()
        _close(evicted)
        try:
            thing = build()
        except BaseException:
            with self._lock:
                self._out -= 1
            raise
        with self._lock:
            self._all.add(thing)
            self._keys[thing] = key
        # What registers later runs earlier: a GL library that the build brought in must shut down after us.
        atexit.unregister(self.close_all)
        atexit.register(self.close_all)
        return thing

    def peek(self, key: Hashable) -> Thing | None:
        """A thing of that key, idle or out, to read what never changes about it; None if there is none."""
        with self._lock:
            return next((thing for thing in self._all if self._keys.get(thing) == key), None)

    def release(self, key: Hashable, thing: Thing) -> None:
        """Take a thing back for later use."""
        with self._lock:
            self._out -= 1
            self._idle.append((key, thing))
            evicted = self._evict()
        _close(evicted)

    def discard(self, thing: Thing) -> None:
        """Take a thing back and close it, because it may be broken."""
        with self._lock:
            self._out -= 1
            self._keys.pop(thing, None)
        thing.close()

    def abandon(self, thing: Thing) -> None:
        """Keep a thing that came through a fork from being used or destroyed here."""
        self._inherited.append(thing)

    def clear(self) -> None:
        """Close everything idle."""
        with self._lock:
            things, self._idle = [thing for _, thing in self._idle], []
            for thing in things:
                self._keys.pop(thing, None)
        _close(things)

    def close_all(self) -> None:
        """Close everything, also what is out; runs when the interpreter ends."""
        with self._lock:
            things = list(self._all)
        _close(things)

    def __len__(self) -> int:
        return len(self._idle)

    def _evict(self) -> list[Thing]:
        surplus = len(self._idle) + self._out - max(self._keep, self._peak)
        evicted = [thing for _, thing in self._idle[: max(0, surplus)]]
        del self._idle[: len(evicted)]
        for thing in evicted:
            self._keys.pop(thing, None)
        return evicted

    def _forget(self) -> None:
        # Kept, since their destructors would call into GL.
        self._inherited += [self._idle, list(self._all)]
        self._lock, self._idle, self._all = threading.Lock(), [], weakref.WeakSet()
        self._keys = weakref.WeakKeyDictionary()
        self._out = self._peak = 0


def _close(things: Iterable[Closable]) -> None:
    for thing in things:
        thing.close()
