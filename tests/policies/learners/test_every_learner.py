"""What holds for all methods: frozen weights, repeatability, going on after a stop, sizes; another package's method."""

import copy
import dataclasses
import pkgutil
import sys
import types

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies import learners  # noqa: E402
from gym_grounding_policies.learners import er  # noqa: E402  # needs torch
from gym_grounding_policies.learners._base import LEARN, Learner, Route  # noqa: E402
from gym_grounding_policies.nets.actor import Actor  # noqa: E402
from gym_grounding_policies.nets.profiles import PAPER  # noqa: E402
from policies.learners.plain_loop import (  # noqa: E402
    NAMES,
    PROFILES,
    Loop,
    act,
    additions_are_not_zero_at_first,
    kind,
    learner,
    same,
    source,
    toy,
    weights,
)

TASKS = [toy(0), toy(1), toy(2)]
FROZEN = ("tail", "l2m", "iscil", "dmpel")
"""Methods that never train the actor itself."""
AT_TEST = ("packnet", "tail")
each = pytest.mark.parametrize("name", NAMES)
IN_TRAINING = ("packnet", "tail", "iscil", "dmpel")


def outputs(one, windows=TASKS):
    return [act(one, window) for window in windows]


def equal(one, other):
    """Whether two lists of outputs are equal to the last bit, with what was told."""
    return all(torch.equal(a[0], b[0]) and same(a[1], b[1]) for a, b in zip(one, other, strict=True))


def test_all_methods_of_the_folder_are_tested_here():
    found = {module.name for module in pkgutil.iter_modules(learners.__path__) if not module.name.startswith("_")}
    assert found == set(NAMES)


@each
def test_declarations(name):
    cls = kind(name)
    assert cls.name == name
    assert (cls.task_index_in_training, cls.task_index_at_test) == (name in IN_TRAINING, name in AT_TEST)
    assert cls.Settings.__dataclass_params__.frozen
    for value in dataclasses.asdict(cls.Settings()).values():
        assert value is None or isinstance(value, int | float | str)


def check_frozen(name, profile="cpu", epochs=2):
    """The first task begins with the actor's own outputs; nothing that is called changes the actor."""
    windows = [toy(k, profile=profile) for k in range(2)]
    plain = learner("seqft", profile)
    base = [act(plain, one)[0] for one in windows]
    one = learner(name, profile)
    before, loop = weights(one.actor), Loop(one)
    loop.learner.begin_task(0, loop.data(windows[0]))
    assert torch.equal(act(one, windows[0])[0], base[0])
    one = learner(name, profile)
    Loop(one, epochs).tasks(windows)
    assert same(weights(one.actor), before)
    assert not torch.equal(act(one, windows[1])[0], base[1])
    assert same(weights(one.actor), before)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", FROZEN)
def test_methods_that_freeze_the_actor_begin_as_it_is_and_never_change_it(name, profile):
    check_frozen(name, profile)


def moves_a_weight(hook):
    """A fault: the actor is another after a hook."""

    def plant(patch, cls):
        plain = getattr(cls, hook)

        def moving(self, *given):
            found = plain(self, *given)
            with torch.no_grad():
                self.actor.head.means.bias += 0.01
            return found

        patch.setattr(cls, hook, moving)

    return plant


def new_additions_are_not_zero(patch, cls):
    additions_are_not_zero_at_first(patch)


def the_actor_is_trained_too(patch, cls):
    plain = cls.trainable
    patch.setattr(cls, "trainable", lambda self, phase: (*plain(self, phase), *self.actor.parameters()))


def nothing_is_learned(patch, cls):
    patch.setattr(cls, "loss", lambda self, batch, phase: torch.zeros(()))
    patch.setattr(cls, "route", lambda self, observations, words, tasks: Route())


@pytest.mark.filterwarnings("ignore:iscil")
@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize(
    "fault",
    [
        new_additions_are_not_zero,
        the_actor_is_trained_too,
        nothing_is_learned,
        *(moves_a_weight(hook) for hook in ("begin_task", "end_task", "route")),
    ],
)
def test_an_actor_that_is_not_frozen_is_found(name, fault, monkeypatch):
    fault(monkeypatch, kind(name))
    with pytest.raises(AssertionError):
        check_frozen(name, epochs=1)


@each
def test_routing_changes_nothing_and_draws_nothing(name):
    check_routing(name)


def check_routing(name):
    """Two routes of the same windows are equal; weights, structure and random streams are as before."""
    one = Loop(learner(name), epochs=1).tasks(TASKS[:2])
    before, state, torch_state = weights(one), one.generator.get_state(), torch.get_rng_state()
    structure = copy.deepcopy(one.structure())
    first, second = outputs(one, TASKS[:2]), outputs(one, TASKS[:2])
    assert equal(first, second)
    assert same(weights(one), before)
    assert one.structure() == structure
    assert torch.equal(one.generator.get_state(), state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def when_routing(act):
    """A fault: a route does something beside what it should."""

    def plant(patch):
        plain = er.Er.route

        def route(self, observations, words, tasks):
            act(self)
            return plain(self, observations, words, tasks)

        patch.setattr(er.Er, "route", route)

    return plant


def routes_move_a_weight(patch):
    moves_a_weight("route")(patch, er.Er)


def routes_drop_out(patch):
    when_routing(lambda one: one.actor.train())(patch)


def routes_count_a_task(patch):
    when_routing(lambda one: setattr(one, "begun", one.begun + 1))(patch)


def routes_draw(patch):
    when_routing(lambda one: torch.rand((), generator=one.generator))(patch)


def routes_draw_from_torch(patch):
    when_routing(lambda one: torch.rand(()))(patch)


@pytest.mark.parametrize(
    "fault", [routes_move_a_weight, routes_drop_out, routes_count_a_task, routes_draw, routes_draw_from_torch]
)
def test_routes_that_change_something_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_routing("er")


@each
def test_the_same_seed_gives_the_same_weights_whatever_is_evaluated_in_between(name):
    check_seeds(name)


def check_seeds(name):
    """Weights depend on the seed of whatever draws, and on no evaluation."""

    def trained(seed=0, watch=None):
        return weights(Loop(learner(name, seed=seed), watch=watch).tasks(TASKS[:2]))

    def evaluating(one, phase, batch):
        act(one, TASKS[0])
        one.train()

    first = trained()
    assert same(first, trained())
    assert same(first, trained(watch=evaluating))
    assert same(first, trained(seed=1)) == (name in ("seqft", "packnet"))


def seeds_are_forgotten(seed):
    """A fault: at each task the generator begins anew."""

    def plant(patch):
        begin = er.Er.begin_task

        def begin_task(self, k, data):
            seed(self.generator)
            begin(self, k, data)

        patch.setattr(er.Er, "begin_task", begin_task)

    return plant


@pytest.mark.parametrize(
    "fault",
    [seeds_are_forgotten(lambda one: one.seed()), seeds_are_forgotten(lambda one: one.manual_seed(0)), routes_draw],
    ids=["differs from run to run", "is the same for all seeds", "evaluation draws"],
)
def test_weights_that_do_not_follow_the_seed_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_seeds("er")


@each
@pytest.mark.parametrize("ended", [1, 2])
def test_a_learner_that_was_saved_after_a_task_acts_and_learns_on_as_if_it_had_not(name, ended):
    loop = Loop(learner(name))
    loop.tasks(TASKS[:ended])
    again = loop.restored(loop.saved(), TASKS[:ended])
    assert equal(outputs(again.learner, TASKS[:ended]), outputs(loop.learner, TASKS[:ended]))
    loop.tasks([TASKS[ended]], ended)
    again.tasks([TASKS[ended]], ended)
    assert same(weights(again.learner), weights(loop.learner))
    assert equal(outputs(again.learner, TASKS[: ended + 1]), outputs(loop.learner, TASKS[: ended + 1]))
    assert again.learner.structure() == loop.learner.structure()


@pytest.mark.parametrize(
    ("name", "stopped"), [*((name, step) for name in NAMES for step in (2, 4)), ("packnet", 8), ("dmpel", 8)]
)
def test_a_learner_that_was_stopped_in_the_middle_of_a_task_goes_on_to_the_same_weights(name, stopped):
    """The eighth step is in a second phase."""
    check_going_on(name, stopped)


def check_going_on(name, stopped, spoil=lambda saved: None):
    """Stopped after a step of the second task and taken up by a new learner, training ends at the same weights."""
    loop = Loop(learner(name))
    loop.tasks(TASKS[:1])
    for count, place in enumerate(loop.steps(1, TASKS[1]), 1):
        if count == stopped:
            saved, at = loop.saved(), place
    spoil(saved)
    again = loop.restored(saved, TASKS[:1], at, k=1)
    for _ in again.steps(1, TASKS[1], at):
        pass
    assert same(weights(again.learner), weights(loop.learner))
    assert equal(outputs(again.learner, TASKS[:2]), outputs(loop.learner, TASKS[:2]))


def zeroed(start):
    def spoil(saved):
        for name, value in saved["tensors"].items():
            if name.startswith(start):
                value.zero_()

    return spoil


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("er", lambda saved: saved["structure"]["stream"].update(drawn=0)),
        ("er", lambda saved: saved["structure"]["kept"][0].__setitem__(0, 19)),
        ("ewc", zeroed("importance")),
        ("ewc", zeroed("anchor")),
        ("packnet", zeroed("owner")),
        ("tail", zeroed("sets.0")),
        ("l2m", zeroed("rarity")),
        ("iscil", zeroed("prototypes.0")),
        ("dmpel", zeroed("fit")),
        ("dmpel", zeroed("stores")),
    ],
)
def test_what_a_checkpoint_lacks_is_found(name, spoil):
    with pytest.raises(AssertionError):
        check_going_on(name, 11 if name == "dmpel" else 4, spoil)


@each
def test_pictures_and_words_of_the_published_profile_work_in_every_method(name):
    windows = [toy(k, profile="paper") for k in range(2)]
    loop = Loop(learner(name, "paper"))
    loop.tasks(windows)
    again = loop.restored(loop.saved(), windows)
    assert equal(outputs(again.learner, windows), outputs(loop.learner, windows))
    single, _ = act(loop.learner, windows[1], steps=1)
    assert bool(single.isfinite().all())


@pytest.mark.parametrize(
    ("name", "profile"), [*((name, "cpu") for name in NAMES), *((name, "paper") for name in ("packnet", "tail"))]
)
def test_one_batch_may_mix_tasks(name, profile):
    windows = [toy(k, profile=profile) for k in range(2)]
    one, both = Loop(learner(name, profile)).tasks(windows), toy(0, profile=profile)
    both.whole = windows[0].whole.joined(windows[1].whole).taken(torch.tensor([0, 25, 3, 39, 38]))
    apart = torch.cat([act(one, both.subset([row]))[0] for row in range(len(both))])
    torch.testing.assert_close(act(one, both)[0], apart, atol=1e-4, rtol=1e-4)


@each
def test_sizes_count_what_was_trained_what_acts_and_what_is_kept(name):
    one = Loop(learner(name)).tasks(TASKS[:2])
    found, actor = one.sizes(), sum(parameter.numel() for parameter in one.actor.parameters())
    assert found.trained > 0
    assert found.acting >= actor
    assert (found.acting > actor) == (name in (*FROZEN, "packnet"))
    assert (found.kept > 0) == (name in ("er", "ewc", "l2m", "dmpel"))
    if name not in ("packnet",):
        assert found.trained == sum(parameter.numel() for parameter in one.trainable(LEARN))


@pytest.fixture(scope="module")
def published():
    """The published actor, without memory for its weights."""
    with torch.device("meta"):
        return Actor(PAPER)


def count(parameters):
    return sum(one.numel() for one in parameters)


def test_published_sizes(published):
    """Table of trained and stored numbers (methods of the public code, at ten tasks)."""

    def made(name):
        return kind(name)(published, kind(name).Settings(), source())

    actor = count(published.parameters())
    tail = made("tail")
    tail.rebuild({"begun": 2})
    assert count(tail.trainable(LEARN)) == 1_422_923
    assert tail.sizes().acting - actor == 2 * 1_422_923
    assert count(made("l2m").trainable(LEARN)) == 11_819_520
    iscil = made("iscil")
    iscil.rebuild({"begun": 2, "prototypes": [[20, 2048]] * 2})
    assert count(iscil.trainable(LEARN)) == 1_275_467
    assert iscil.sizes().acting - actor == 2 * (1_275_467 + 40_960)
    for tasks, router in ((1, 594_182), (10, 608_060)):
        dmpel = made("dmpel")
        dmpel.rebuild({"begun": tasks, "stored": [], "replaying": False})
        assert count(dmpel.experts[0].parameters()) == 652_608
        assert count(dmpel.router.parameters()) == router
        assert dmpel.sizes().trained == 652_608 + router
        assert dmpel.sizes().acting - actor == tasks * 652_608 + router
    packnet = made("packnet")
    assert packnet.owner.numel() == count(packnet.trainable(LEARN))
    assert packnet.owner["image.patches"].dtype == torch.uint8


def test_places_follow_the_profile_unless_a_setting_says_otherwise():
    def places(profile, choice="profile"):
        one = learner("l2m", profile, places=choice)
        return [place.site for place in one.pool[0].additions.places]

    paper, small = learner("seqft", "paper").actor, learner("seqft").actor
    # the towers have two blocks here: additions are in the second
    upper = {"image.blocks.1.attention.qkv", "text.blocks.1.attention.q", "text.blocks.1.attention.v"}
    assert set(places("paper")) == upper | {"temporal.blocks.0.attention.qkv"}
    assert places("cpu") == list(small.sites)
    assert set(places("cpu", "attention")) == {site for site in small.sites if site.endswith("qkv")}
    assert places("paper", "every") == list(paper.sites)
    down = "temporal/blocks/0/attention/qkv"
    for choice, part, wanted in (("attention", "q", 1 / 32**0.5), ("every", "all", 1 / 16**0.5)):
        start = learner("iscil", places=choice)
        start.begin_task(0, Loop(start).data(TASKS[0]))
        largest = float(start.slots[0].additions.A[f"{down}:{part}"].detach().abs().max())
        assert 0.7 * wanted < largest <= wanted  # rank 2: the published pools start smaller by its root
    with pytest.raises(InvalidOption, match="places is 'all'; choose profile, attention, every"):
        places("cpu", "all")


STAND_IN = '''
"""A method of another package."""
from dataclasses import dataclass
from gym_grounding_policies.learners._base import Learner

@dataclass(frozen=True)
class Settings:
    factor: float = 2.0

class Louder(Learner):
    name = "louder"
    Settings = Settings
    def loss(self, batch, phase):
        return self.settings.factor * self.actor.nll(batch)

LEARNER = Louder
'''


def test_a_method_of_another_package_needs_a_name_settings_and_a_loss(monkeypatch):
    module = types.ModuleType("louder_package")
    monkeypatch.setitem(sys.modules, "louder_package", module)
    exec(STAND_IN, module.__dict__)  # noqa: S102  # as a package of its own would be
    cls = module.LEARNER
    assert issubclass(cls, Learner)
    loop = Loop(learner("louder", cls=cls))
    loop.tasks(TASKS[:2])
    again = loop.restored(loop.saved(), TASKS[:2])
    assert equal(outputs(again.learner), outputs(loop.learner))
    assert not same(weights(loop.learner), weights(learner("louder", cls=cls)))
