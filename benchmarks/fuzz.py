"""Environments used in any order beside ones that were used once: never a difference.

``python benchmarks/fuzz.py --moves 5000 --seed 7`` opens several environments of two scenes and draws what happens
next: reset, step, render a picture, look at one observed before, change to another variant, close, free what is idle.
What each shows is compared, to the last bit, with the same episode in an environment of its own in which nothing else
ever happened. Exit code 1 at the first difference, with the moves that led to it; the same seed draws the same moves.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, install
from gym_grounding.adapters.libero.core import model

SCENES = ("LiberoGoal-T7", "LiberoSpatial-T4")
"""A stove that may be lit when an episode begins, and a drawer that is open in all of them."""
VARIANTS, INIT_STATES, LENGTH, OPEN_AT_ONCE = 3, (0, 11), 12, 4
DRAWN = (0, 3, 7, 12)
"""Steps of which pictures are compared."""
MOVES = {"step": 60, "reset": 12, "picture": 8, "look": 8, "change": 8, "open": 8, "close": 3, "free": 1}
"""How often each is drawn."""


@dataclass(frozen=True, slots=True)
class Story:
    """An episode that can be told again."""

    variant: str
    init_state: int

    def actions(self) -> Any:
        """The first ones go down to the table, shape (LENGTH, 7)."""
        digest = hashlib.sha256(f"{self.variant} {self.init_state}".encode()).digest()
        actions = np.random.default_rng(digest[0]).uniform(-1.0, 1.0, (LENGTH, 7))
        actions[:, 2] -= 0.5
        return actions.astype(np.float32)


def variants() -> list[str]:
    """Some of each scene, and one of each that begins with a joint elsewhere."""
    loaded, chosen = manifest.load(), []
    for task in SCENES:
        own = [one for one in loaded.variants.values() if one.task == task]
        chosen += [one.id for one in own[:VARIANTS]] + [one.id for one in own if one.joints][:1]
    return chosen


def made(variant: str, pictures: bool) -> Any:
    """Its registered environment."""
    return gymnasium.make(
        f"gym_grounding:Grounding/{variant}-v{manifest.load().version}",
        observation="both" if pictures else "state",
        image_size=64,
        settle_steps=1,
        stop="horizon",
        render_mode="rgb_array",
        disable_env_checker=True,
    )


def digest(env: Any, seen: Mapping[str, Any], *told: Any) -> str:
    """Of all that an environment shows but pictures, and of its state."""
    shown = hashlib.sha256(repr(told).encode())
    for key in sorted(key for key in seen if not key.endswith("_image")):
        shown.update(np.ascontiguousarray(seen[key]).tobytes())
    shown.update(env.get_wrapper_attr("scene").state().tobytes())
    return shown.hexdigest()


def picture(drawn: Any) -> str:
    """Of a picture."""
    return hashlib.sha256(np.array(drawn).tobytes()).hexdigest()


def observed(seen: Mapping[str, Any]) -> str:
    """Of both cameras' pictures."""
    return " ".join(picture(seen[key]) for key in sorted(seen) if key.endswith("_image"))


class Truths:
    """What each story shows in an environment of its own; told once each.

    Args:
        pictures: whether any are compared.
    """

    def __init__(self, pictures: bool) -> None:
        self.pictures = pictures
        self._shown: dict[Story, list[str]] = {}
        self._drawn: dict[Story, dict[tuple[str, int], str]] = {}

    def shown(self, story: Story, step: int) -> str:
        """Digest after so many steps."""
        if story not in self._shown:
            self._shown[story] = [shown for _, _, shown in self._told(story)]
        return self._shown[story][step]

    def drawn(self, story: Story, what: str, step: int) -> str | None:
        """Digest of what was ``rendered`` or ``observed`` after so many steps, where it was kept."""
        if story not in self._drawn:
            kept = self._drawn[story] = {}
            for number, (env, seen, _) in enumerate(self._told(story)):
                if number in DRAWN:
                    kept["observed", number] = observed(seen)
                    kept["rendered", number] = picture(env.render())
        return self._drawn[story].get((what, step))

    def _told(self, story: Story) -> Iterator[tuple[Any, Mapping[str, Any], str]]:
        ADAPTER.clear()
        model.clear()
        env = made(story.variant, self.pictures)
        seen, info = env.reset(seed=0, options={"init_state": story.init_state})
        yield env, seen, digest(env, seen, info)
        for action in story.actions():
            seen, *told = env.step(action)
            yield env, seen, digest(env, seen, *told)
        env.close()


class Played:
    """An open environment, where its story is, and observations that may be looked at later.

    Args:
        story: comes first.
        pictures: whether it observes them.
    """

    def __init__(self, story: Story, pictures: bool) -> None:
        self.env, self.story, self.step = made(story.variant, pictures), story, -1
        self.kept: deque[tuple[Story, int, Mapping[str, Any]]] = deque(maxlen=6)


class Fuzz:
    """The machine that moves; ``moves`` are the last ones.

    Args:
        seed: of the draws.
        truths: what is right.
    """

    def __init__(self, seed: int, truths: Truths) -> None:
        self._generator = np.random.default_rng(seed)
        self._truths = truths
        self._stories = [Story(variant, number) for variant in variants() for number in INIT_STATES]
        for story in self._stories:
            truths.shown(story, 0)
        self._played: list[Played] = []
        self.moves: deque[str] = deque(maxlen=40)
        self.counts: Counter[str] = Counter()

    def move(self) -> str:
        """Do something; what differs, or nothing."""
        names, weights = list(MOVES), np.array(list(MOVES.values()))
        name = str(self._generator.choice(names, p=weights / weights.sum()))
        if not self._played and name not in ("open", "free"):
            name = "open"
        if name in ("picture", "look") and not self._truths.pictures:
            name = "step"
        number = int(self._generator.integers(max(1, len(self._played))))
        self.counts[name] += 1
        self.moves.append(f"{name} {number}")
        one = self._played[number] if self._played else None
        return str(getattr(self, f"_{name}")(one) or "")

    def close(self) -> None:
        """Close what is open."""
        while self._played:
            self._close(self._played[0])

    def _story(self, variant: str | None = None) -> Story:
        known = [story for story in self._stories if variant in (None, story.variant)]
        return known[int(self._generator.integers(len(known)))]

    def _step(self, one: Played) -> str:
        if not 0 <= one.step < LENGTH:
            return self._reset(one)
        seen, *told = one.env.step(one.story.actions()[one.step])
        one.step += 1
        one.kept.append((one.story, one.step, seen))
        return self._compared(one, digest(one.env, seen, *told), self._truths.shown(one.story, one.step))

    def _reset(self, one: Played) -> str:
        one.story, one.step = self._story(one.story.variant), 0
        seen, info = one.env.reset(seed=0, options={"init_state": one.story.init_state})
        return self._compared(one, digest(one.env, seen, info), self._truths.shown(one.story, 0))

    def _picture(self, one: Played) -> str:
        if one.step < 0:
            return self._reset(one)
        # Those of other steps are drawn too, to see that nothing after them is any different.
        shown = picture(one.env.render())
        return self._compared(one, shown, self._truths.drawn(one.story, "rendered", one.step) or shown)

    def _look(self, one: Played) -> str:
        """At the pictures of an earlier observation, perhaps of the episode before."""
        if not one.kept:
            return self._step(one)
        story, step, seen = one.kept[int(self._generator.integers(len(one.kept)))]
        shown = observed(seen)
        differs = shown != (self._truths.drawn(story, "observed", step) or shown)
        return f"{story}, pictures observed at step {step}" if differs else ""

    def _change(self, one: Played) -> str:
        one.env.close()
        other = Played(self._story(), self._truths.pictures)
        self._played[self._played.index(one)] = other
        return self._reset(other)

    def _open(self, _: Played | None) -> str:
        if len(self._played) == OPEN_AT_ONCE:
            return self._step(self._played[0])
        self._played.append(Played(self._story(), self._truths.pictures))
        return self._reset(self._played[-1])

    def _close(self, one: Played) -> str:
        one.env.close()
        self._played.remove(one)
        return ""

    def _free(self, _: Played | None) -> str:
        ADAPTER.clear()
        model.clear()
        return ""

    def _compared(self, one: Played, shown: str, expected: str) -> str:
        self.moves[-1] += f": {one.story.variant} {one.story.init_state} at {one.step}"
        return "" if shown == expected else f"{one.story} at step {one.step}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Move; 1 at the first difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moves", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", action=argparse.BooleanOptionalAction, default=install.backend().name != "none")
    given = parser.parse_args(arguments)
    fuzz = Fuzz(given.seed, Truths(given.pictures))
    for _ in range(given.moves):
        if found := fuzz.move():
            print("\n".join(fuzz.moves))
            print(f"DIFFERENT: {found} (--seed {given.seed})")
            return 1
    fuzz.close()
    done = ", ".join(f"{count} {name}" for name, count in sorted(fuzz.counts.items()))
    print(f"{given.moves} moves of seed {given.seed} ({done}): nothing differs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
