"""The training loop: its order, what it trains, its numbers against a plain loop, and going on from anywhere."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.learners import get
from gym_grounding_policies.learners._base import LEARN
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.training.checkpoint import plain as copied
from gym_grounding_policies.training.loop import Place, Streams, Training, stream
from gym_grounding_policies.training.recipe import Recipe, one_cycle
from policies.training import little

from gym_grounding.errors import CorruptRun, Diverged, InvalidOption, PolicyError

TASKS = 2


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    """Windows of two tasks."""
    folder = tmp_path_factory.mktemp("lessons")
    return [little.windows(folder, number) for number in range(TASKS)]


def trained(lessons, one, moments=None):
    """Trains all that is left; with ``moments``, stops after so many."""
    count = 0
    while one.place.task < len(lessons):
        for _ in one.task(one.data(lessons[one.place.task])):
            count += 1
            if count == moments:
                return one
    return one


def saved(one):
    """What a checkpoint holds, as copies."""
    tensors, plain = one.state()
    return copied(one.learner.state_dict()), one.learner.structure(), copied(tensors), copy.deepcopy(plain)


def restored(lessons, found, kind=little.Standin, recipe=little.RECIPE):
    """A new run, as another process would make it, brought to a saved place."""
    learned, structure, tensors, plain = found
    streams = Streams(77)
    learner = little.learner(streams, kind)
    learner.rebuild(structure)
    learner.load_state_dict(learned)
    one = Training(learner, recipe, streams)
    for number in range(plain["place"]["task"]):
        learner.recall(number, one.data(lessons[number]))
    one.restore(tensors, plain)
    return one


def test_hooks_come_in_the_stated_order(lessons):
    one = little.training()
    trained(lessons, one)
    calls = one.learner.calls
    steps = [("loss", "{0}"), ("after_backward", "{0}"), ("after_step", "{0}")]
    for k in range(TASKS):
        batches = {"learn": 3, "retrain": 3, "fit": -(-11 * (k + 1) // 4)}
        epochs = {"learn": 2, "retrain": 1, "fit": 3}
        expected = [("begin_task", k)]
        for phase in ("learn", "retrain", "fit"):
            each = [(what, phase) for what, _ in steps] * (batches[phase] * epochs[phase])
            expected += [("begin_phase", phase), *each, ("end_phase", phase)]
        expected.append(("end_task", k))
        assert calls[: len(expected)] == expected
        calls = calls[len(expected) :]
    assert calls == []


@pytest.fixture(scope="module")
def whole(lessons):
    """Everything after a training that was not stopped."""
    return little.everything(trained(lessons, little.training()))[0]


def moments_of(lessons):
    """How many moments a whole training has, and which of them are boundaries."""
    one, boundaries = little.training(), []
    while one.place.task < TASKS:
        boundaries += [moment.boundary for moment in one.task(one.data(lessons[one.place.task]))]
    return boundaries


# in a pass; its end; the retrain phase; its end; the replay phase; the second task, in each of its phases
@pytest.mark.parametrize("stop", [1, 3, 5, 9, 13, 16, 28, 33, 58])
def test_a_run_that_was_stopped_anywhere_ends_with_the_same_weights(lessons, whole, stop):
    one = trained(lessons, little.training(), stop)
    if stop == 58:
        assert one.place.task == 1
        assert one.place.phase == 2
    found = saved(one)
    # It goes on in the same process too, and what was saved does not change with it.
    assert little.equal(little.everything(trained(lessons, one))[0], whole)
    again, _ = little.everything(trained(lessons, restored(lessons, found)))
    assert little.equal(again, whole)


def test_a_run_that_was_stopped_at_every_moment_ends_with_the_same_weights(lessons, whole):
    one, count = little.training(), 0
    while one.place.task < TASKS:
        # A boundary comes again when it was the last moment, so two moments make sure of a step.
        one = restored(lessons, saved(trained(lessons, one, 2)))
        count += 1
    assert count > 30
    assert little.equal(little.everything(one)[0], whole)


def test_stops_lie_in_every_phase(lessons):
    boundaries = moments_of(lessons)
    assert len(boundaries) > 60
    assert sum(boundaries) == TASKS * (3 + 2 + 4)


def test_equal_seeds_give_equal_weights_and_others_do_not(lessons):
    one, two, three = (trained(lessons[:1], little.training(seed)) for seed in (3, 3, 4))
    assert little.equal(little.everything(one)[0], little.everything(two)[0])
    assert not little.equal(one.learner.state_dict(), three.learner.state_dict())


def test_global_random_states_neither_matter_nor_move(lessons):
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  # the global one is what is looked at
    before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one = trained(lessons[:1], little.training())
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(numbers, np.random.get_state()[1])  # noqa: NPY002
    torch.manual_seed(2)
    assert little.equal(one.learner.state_dict(), trained(lessons[:1], little.training()).learner.state_dict())


def test_it_is_a_plain_loop_of_pytorch_to_the_last_bit(lessons):
    """Written out with PyTorch's own scheduler; nothing of the loop is used but its random streams."""
    recipe = replace(little.RECIPE, clip=0.5)
    streams = Streams(0)
    actor = Actor.made(little.profile(), stream(5, 9)).train()
    one = Training(get("seqft")(Actor.made(little.profile(), stream(5, 9)), None, streams.learner), recipe, streams)
    for _ in one.task(one.data(lessons[0])):
        pass
    own = Streams(0)
    optimizer = torch.optim.AdamW(actor.parameters(), lr=1e-3, betas=(0.9, 0.999), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=6, pct_start=0.3, final_div_factor=10)
    for _ in range(2):  # begin_task and begin_phase
        torch.randint(2**62, (), generator=own.layers)
    for _ in range(2):
        numbers = own.order.permutation(len(lessons[0]))
        for first in range(0, len(numbers), 4):
            with seeded(own.layers):
                loss = actor.nll(lessons[0].batch(numbers[first : first + 4]))
            optimizer.zero_grad()
            loss.backward()
            assert float(torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)) > 0.5
            optimizer.step()
            schedule.step() if schedule.last_epoch < 5 else None
    # The rate is computed by another formula, which differs in its last digit.
    for name, value in one.learner.actor.state_dict().items():
        torch.testing.assert_close(value, actor.state_dict()[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 10, 333])
def test_one_cycle_is_that_of_pytorch(steps):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([parameter], lr=1.0)
    found = [one_cycle(step, steps, 1e-4) for step in range(steps)]
    if steps < 4:  # PyTorch's own divides by zero or begins behind the peak
        assert all(4e-7 <= lr <= 1e-4 and 0.85 <= beta <= 0.95 for lr, beta in found)
        return
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-4, total_steps=steps, final_div_factor=10)
    for step, (lr, beta) in enumerate(found):
        assert lr == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        assert beta == pytest.approx(optimizer.param_groups[0]["betas"][0], rel=1e-9)
        if step + 1 < steps:
            optimizer.step()
            schedule.step()
    assert found[0][0] == pytest.approx(4e-6)
    assert found[-1][0] == pytest.approx(4e-7)


def test_only_what_is_trainable_moves_and_wants_gradients(lessons):
    one = little.training()
    before, actor, phases = None, None, set()
    for moment in one.task(one.data(lessons[0])):
        phases.add(moment.phase.name)
        wanted = {name for name, value in one.learner.named_parameters() if value.requires_grad}
        if moment.phase.replay:
            assert wanted == {"extra.0.weight", "extra.0.bias"}
            actor = actor or copied(one.learner.actor.state_dict())
        else:
            assert wanted == {f"actor.{name}" for name, _ in one.learner.actor.named_parameters()}
            before = before or copied(one.learner.extra.state_dict())
            assert little.equal(before, one.learner.extra.state_dict())
    assert phases == {"learn", "retrain", "fit"}
    assert little.equal(actor, one.learner.actor.state_dict())
    assert not little.equal(before, one.learner.extra.state_dict())


class Watching(little.Standin):
    """Keeps the norms of its gradients before and after they are clipped."""

    def after_backward(self, phase):
        self.calls.append(("before", self.norm()))

    def after_step(self, phase):
        self.calls.append(("after", self.norm()))

    def norm(self):
        return float(torch.stack([one.grad.norm() for one in self.actor.parameters() if one.grad is not None]).norm())


def test_gradients_are_clipped_after_the_learner_edited_them(lessons):
    one = little.training(kind=Watching, recipe=replace(little.RECIPE, clip=0.25))
    trained(lessons[:1], one, 5)
    calls = [call for call in one.learner.calls if call[0] in ("before", "after")]
    assert len(calls) == 6
    for (_, before), (_, after) in zip(calls[::2], calls[1::2], strict=True):
        assert before > 0.5
        assert after == pytest.approx(0.25, rel=1e-3)


def test_a_phase_has_its_own_rate_decay_and_batch(lessons):
    one, rates = little.training(), {}
    for moment in one.task(one.data(lessons[0])):
        if moment.numbers:
            rates.setdefault(moment.phase.name, []).append(moment.numbers["rate"])
            decays = {"learn": 0.1, "retrain": 0.0, "fit": 0.1}
            assert one._optimizer.param_groups[0]["weight_decay"] == decays[moment.phase.name]
    assert rates["retrain"] == [5e-4] * 3
    assert rates["learn"] == [one_cycle(step, 6, 1e-3)[0] for step in range(6)]
    assert rates["fit"] == [one_cycle(step, 9, 1e-2)[0] for step in range(9)]


def test_accumulated_batches_make_the_step_of_a_large_one(lessons):
    """Without dropout and with equal weights; the last step of a pass may have fewer batches."""
    windows = lessons[0].subset(np.flatnonzero(lessons[0].places[:, 1] < 2))  # no padding: equal weights
    assert len(windows) == 4
    weights = []
    for batch, accumulate in ((2, 2), (4, 1)):
        one = little.training(recipe=replace(little.RECIPE, batch=batch, accumulate=accumulate), dropout=0.0)
        for moment in one.task(one.data(windows)):
            if moment.numbers:
                assert moment.steps == 2
                break
        weights.append(copied(one.learner.actor.state_dict()))
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=1e-4, atol=1e-6)


def test_a_stop_between_accumulated_steps_changes_nothing(lessons):
    recipe = replace(little.RECIPE, accumulate=2)
    whole = little.everything(trained(lessons, little.training(recipe=recipe)))[0]
    one = restored(lessons, saved(trained(lessons, little.training(recipe=recipe), 2)), recipe=recipe)
    assert one.place == Place(0, 0, 0, 2)
    assert little.equal(little.everything(trained(lessons, one))[0], whole)


class Broken(little.Standin):
    """Its loss is not finite in the fourth step."""

    worst = float("nan")

    def loss(self, batch, phase):
        loss = super().loss(batch, phase)
        return loss * self.worst if int(self.steps) == 3 else loss


class Steep(Broken):
    """Its loss is finite, and its gradient is not."""

    def loss(self, batch, phase):
        loss = little.Standin.loss(self, batch, phase)
        return loss + (self.actor.head.means.bias * 0).sqrt().sum() if int(self.steps) == 3 else loss


@pytest.mark.parametrize(("kind", "what"), [(Broken, "the loss is nan"), (Steep, "the gradient's norm is nan")])
def test_numbers_that_are_not_finite_end_training_before_they_reach_the_weights(lessons, kind, what):
    one = little.training(kind=kind)
    before = None
    place = re.escape("standin, task 0, phase 'learn', epoch 1, step 3: ") + what
    moments = one.task(one.data(lessons[0]))
    with pytest.raises(Diverged, match=place):  # noqa: PT012  # the weights just before are wanted
        for moment in moments:
            if not moment.boundary:
                before = copied(one.learner.state_dict())
    assert little.equal(before, one.learner.state_dict())


class Deaf(little.Standin):
    """Nothing that is trained is reached by some batches."""

    def loss(self, batch, phase):
        loss = super().loss(batch, phase)
        return loss.detach() if int(self.steps) == 0 else loss


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_loss_that_reaches_nothing_moves_nothing(lessons, precision):
    one = little.training(kind=Deaf, recipe=replace(little.RECIPE, precision=precision))
    before = copied(one.learner.actor.state_dict())
    moments = one.task(one.data(lessons[0]))
    next(moments), next(moments)
    assert int(one.learner.steps) == 1
    assert little.equal(before, one.learner.actor.state_dict())
    next(moments)
    assert not little.equal(before, one.learner.actor.state_dict())


class Many(little.Standin):
    """Gives a loss for each window."""

    wrong = staticmethod(lambda loss: loss.repeat(4))

    def loss(self, batch, phase):
        return self.wrong(super().loss(batch, phase))


class Number(Many):
    wrong = staticmethod(torch.Tensor.item)


@pytest.mark.parametrize(("kind", "what"), [(Many, "a tensor of shape (4,)"), (Number, "float")])
def test_a_loss_that_is_no_scalar_is_refused(lessons, kind, what):
    one = little.training(kind=kind)
    place = "standin, task 0, phase 'learn', epoch 0, step 0: "
    with pytest.raises(PolicyError, match=re.escape(f"{place}loss() gave {what}; it must give a scalar")):
        list(one.task(one.data(lessons[0])))


def test_no_epochs_change_nothing(lessons):
    one = Training(
        get("seqft")(Actor.made(little.profile(), stream(5, 9)), None, torch.Generator()), Recipe(epochs=0), Streams(0)
    )
    before = copied(one.learner.state_dict())
    assert [(m.boundary, m.last) for m in one.task(one.data(lessons[0]))] == [(True, True)]
    assert little.equal(before, one.learner.state_dict())
    assert one.place == Place(1)


class Idle(little.Standin):
    def trainable(self, phase):
        return ()


def test_a_phase_that_trains_nothing_is_refused(lessons):
    one = little.training(kind=Idle)
    with pytest.raises(InvalidOption, match="phase 'learn' trains nothing"):
        next(one.task(one.data(lessons[0])))


def test_an_optimisers_state_of_another_learner_is_refused(lessons):
    found = saved(trained(lessons, little.training(), 5))
    found[2]["optimizer.999.exp_avg"] = torch.zeros(3)
    with pytest.raises(CorruptRun, match="does not fit standin"):
        restored(lessons, found)
    found = saved(trained(lessons, little.training(), 5))
    found[2]["optimizer.0.exp_avg"] = torch.zeros(3)
    with pytest.raises(CorruptRun, match="does not fit standin"):
        restored(lessons, found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": -1}, "epochs is -1"),
        ({"batch": 0}, "batch is 0"),
        ({"lr": 0.0}, "lr is 0.0"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1"),
        ({"schedule": "cosine"}, "schedule is 'cosine'; choose one-cycle, constant"),
        ({"precision": "int8"}, "precision is 'int8'"),
    ],
)
def test_a_recipe_is_checked(changes, message):
    with pytest.raises(InvalidOption, match=re.escape(message)):
        Recipe(**changes)


@pytest.mark.parametrize(("precision", "far"), [("float16", 3e-3), ("bfloat16", 2e-2)])
def test_mixed_precision_stays_near_the_full_one(lessons, precision, far):
    whole = trained(lessons[:1], little.training()).learner.state_dict()
    mixed = trained(lessons[:1], little.training(recipe=replace(little.RECIPE, precision=precision))).learner
    assert not little.equal(mixed.state_dict(), whole)
    for name, value in mixed.state_dict().items():
        assert value.dtype == whole[name].dtype
        torch.testing.assert_close(value, whole[name], rtol=0.0, atol=far)


def test_a_scaled_run_that_was_stopped_ends_with_the_same_weights(lessons):
    recipe = replace(little.RECIPE, precision="float16")
    whole = little.everything(trained(lessons, little.training(recipe=recipe)))[0]
    one = trained(lessons, little.training(recipe=recipe), 16)
    plain = saved(one)[3]
    assert plain["scaler"]["scale"] > 1
    again, _ = little.everything(trained(lessons, restored(lessons, saved(one), recipe=recipe)))
    assert little.equal(again, whole)


def test_the_first_phase_is_the_one_of_curves():
    assert LEARN.name == "learn"


def test_reading_ahead_changes_nothing(lessons):
    streams = Streams(0)
    one = Training(little.learner(streams), little.RECIPE, streams, readers=1)
    for moment in one.task(one.data(lessons[0])):
        if moment.place.phase == 1:
            break
    here = trained(lessons[:1], little.training(), 10)
    assert one.place == here.place
    assert little.equal(one.learner.state_dict(), here.learner.state_dict())
