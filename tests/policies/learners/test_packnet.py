"""Pruned weights: who owns what, and what nobody may touch."""

import itertools

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import packnet  # noqa: E402  # needs torch
from gym_grounding_policies.learners._base import LEARN, TaskData  # noqa: E402
from policies.learners.plain_loop import Loop, act, learner, same, toy, weights  # noqa: E402
from torch import nn  # noqa: E402


def labels(one):
    return {name: one.owner[name].clone() for name in one._layers}


def visible(one, name, task):
    return one._weight(name, task) != 0


def check_ownership(profile="cpu", tasks=3):
    """Old weights, everything without owners, and outputs of old tasks stay to the last bit, with weight decay on."""
    windows = [toy(k, profile=profile) for k in range(tasks)]
    one, outputs = learner("packnet", profile), []
    names, free = list(one._layers), {}
    start = weights(one.actor)
    loop = Loop(one)
    for k in range(tasks):
        before, owners = weights(one.actor), labels(one)
        assert all(set(owner.unique().tolist()) <= set(range(k + 1)) for owner in owners.values())
        counts = {name: int((owners[name] == 0).sum()) for name in names}
        loop.tasks([windows[k]], k)
        after, now = weights(one.actor), labels(one)
        for name in names:
            old, weight = owners[name] > 0, f"{name}.weight"
            assert torch.equal(after[weight][old], before[weight][old]), name
            assert torch.equal(now[name][old], owners[name][old]), name
            assert set(now[name][~old].unique().tolist()) <= {0, k + 1}, name
            assert int((now[name] == k + 1).sum()) == counts[name] - round(0.75 * counts[name]), name
            assert not bool(after[weight][now[name] == 0].any()), name
            free[name] = now[name] == 0
        layers = {f"{name}.weight" for name in names}
        assert all(torch.equal(after[name], start[name]) for name in start if name not in layers)
        outputs.append(act(one, windows[k])[0])
        for j in range(k + 1):
            assert torch.equal(act(one, windows[j])[0], outputs[j]), (k, j)
        assert all(bool((visible(one, name, j + 1) | ~visible(one, name, j)).all()) for name in names for j in range(k))
    assert loop.phases == ["learn", "retrain"] * tasks
    return one


def test_ownership():
    one = check_ownership()
    assert any(bool((one._layers[name].weight[one.owner[name] == 3] != 0).any()) for name in one._layers)


def test_ownership_with_pictures():
    one = check_ownership("paper", 2)
    assert "image.patches" in one._layers
    assert not same({"a": one._weight("image.patches", 0)}, {"a": one._weight("image.patches", 1)})


def nothing_is_restored(patch):
    patch.setattr(packnet.PackNet, "after_step", lambda self, phase: self._before.clear())


def restores_the_wrong_owner(patch):
    def after_step(self, phase):
        with torch.no_grad():
            for name, before in self._before.items():
                weight = self._layers[name].weight
                weight.copy_(torch.where(self.owner[name] >= 1, weight, before))
        self._before.clear()

    patch.setattr(packnet.PackNet, "after_step", after_step)


def biases_are_trained(patch):
    patch.setattr(packnet.PackNet, "trainable", lambda self, phase: tuple(self.actor.parameters()))


def pruned_weights_stay(patch):
    prune = packnet.PackNet._prune

    def pruned(self, weight, owner):
        kept = weight.detach().clone()
        prune(self, weight, owner)
        weight.data.copy_(kept)

    patch.setattr(packnet.PackNet, "_prune", pruned)


def prunes_among_all_weights(patch):
    def pruned(self, weight, owner):
        size = weight.abs()
        gone = size <= size.flatten().kthvalue(round(0.75 * size.numel())).values
        weight.data[gone] = 0
        owner[gone] = 0

    patch.setattr(packnet.PackNet, "_prune", pruned)


def masks_show_later_tasks(patch):
    def weight(self, name, task):
        return self._layers[name].weight.detach() * (self.owner[name] >= 1)

    patch.setattr(packnet.PackNet, "_weight", weight)


def is_never_pruned(patch):
    patch.setattr(packnet.PackNet, "end_phase", lambda self, k, phase, data: None)


@pytest.mark.parametrize(
    "fault",
    [
        nothing_is_restored,
        restores_the_wrong_owner,
        biases_are_trained,
        pruned_weights_stay,
        prunes_among_all_weights,
        masks_show_later_tasks,
        is_never_pruned,
    ],
)
def test_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_ownership(tasks=2)


def check_labels():
    """Labels rise from 0 where a task begins and fall where it is pruned; free weights stay 0 in retraining."""
    one = learner("packnet", retrain_epochs=2)
    seen = []

    def watch(one, phase, batch):
        seen.append((phase.name, labels(one)))
        for name, layer in one._layers.items():
            assert not bool(layer.weight.grad[one.owner[name] != one.begun].any())
        if phase.name == "retrain":
            assert all(not bool(one._layers[name].weight[one.owner[name] == 0].any()) for name in one._layers)

    Loop(one, watch=watch).tasks([toy(0), toy(1)])
    for (phase, owners), (following, later) in itertools.pairwise(seen):
        if phase == following:
            assert same(owners, later)
        for name, owner in owners.items():
            risen = later[name] > owner
            assert following == "learn" or not bool(risen.any())
            assert (phase, following) != ("learn", "retrain") or bool((later[name] < owner).any())
            assert bool((owner[risen] == 0).all())
    assert all(bool((owner == 1).all()) for owner in seen[0][1].values())


def test_labels_only_rise_in_learning_and_fall_in_pruning_and_free_weights_stay_zero_in_retraining():
    check_labels()


def a_task_takes_all_weights(patch):
    begin = packnet.PackNet.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        for owner in self.owner.buffers():
            owner.fill_(k + 1)

    patch.setattr(packnet.PackNet, "begin_task", begin_task)


def retraining_takes_pruned_weights_back(patch):
    def begin_phase(self, k, phase, data):
        if phase.name == "retrain":
            for owner in self.owner.buffers():
                owner[owner == 0] = self.begun

    patch.setattr(packnet.PackNet, "begin_phase", begin_phase)


def pruning_in_the_midst_of_learning(patch):
    after = packnet.PackNet.after_step

    def after_step(self, phase):
        after(self, phase)
        for name, layer in self._layers.items():
            self._prune(layer.weight, self.owner[name])

    patch.setattr(packnet.PackNet, "after_step", after_step)


def weights_of_others_have_gradients(patch):
    patch.setattr(packnet.PackNet, "after_backward", lambda self, phase: None)


def pruned_weights_move(patch):
    after = packnet.PackNet.after_step

    def after_step(self, phase):
        after(self, phase)
        with torch.no_grad():
            for name, layer in self._layers.items():
                layer.weight[self.owner[name] == 0] += 1e-6

    patch.setattr(packnet.PackNet, "after_step", after_step)


@pytest.mark.parametrize(
    "fault",
    [
        a_task_takes_all_weights,
        retraining_takes_pruned_weights_back,
        pruning_in_the_midst_of_learning,
        weights_of_others_have_gradients,
        pruned_weights_move,
    ],
)
def test_other_labels_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_labels()


def check_seen_whole():
    """While a task is learned, it acts with all that is not yet pruned, and an earlier one without that."""
    one = learner("packnet")
    loop, windows = Loop(one), [toy(0), toy(1)]
    loop.tasks(windows[:1])
    steps = loop.steps(1, windows[1])
    next(steps)
    masked, _ = act(one, windows[1])
    with torch.no_grad():
        density = one.actor(windows[1].whole.observations, windows[1].whole.words)
    whole = torch.cat([density.logits.flatten(1), density.means.flatten(1), density.scales.flatten(1)], 1)
    assert torch.equal(masked, whole)
    assert not torch.equal(act(one, windows[1], tasks=torch.zeros(20, dtype=torch.int64))[0], whole)


def test_the_task_that_is_being_learned_is_seen_whole():
    check_seen_whole()


def masks_hide_the_present_task(patch):
    def weight(self, name, task):
        owner = self.owner[name]
        return self._layers[name].weight.detach() * ((owner >= 1) & (owner <= min(task + 1, self.begun - 1)))

    patch.setattr(packnet.PackNet, "_weight", weight)


def masks_show_what_pruning_would_leave(patch):
    def weight(self, name, task):
        size = self._layers[name].weight.detach()
        return size * (size.abs() > size.abs().quantile(0.75))

    patch.setattr(packnet.PackNet, "_weight", weight)


@pytest.mark.parametrize(
    "fault", [masks_hide_the_present_task, masks_show_what_pruning_would_leave, masks_show_later_tasks]
)
def test_a_task_that_is_not_seen_whole_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_seen_whole()


def test_masked_weights_follow_the_weights_without_a_change_of_mode():
    one = Loop(learner("packnet")).tasks([toy(0)]).eval()
    first = act(one, toy(0))[0]
    kept = one._weight("head.means", 0)
    assert one._weight("head.means", 0) is kept
    with torch.no_grad():
        one.actor.head.means.weight += 0.1
    changed = act(one, toy(0))[0]
    assert not torch.equal(first, changed)
    one.owner["head.means"].zero_()
    assert not torch.equal(act(one, toy(0))[0], changed)


def test_little_is_kept_of_masked_weights(monkeypatch):
    one = Loop(learner("packnet")).tasks([toy(0), toy(1)]).eval()
    wanted = [act(one, toy(k))[0] for k in range(2)]
    monkeypatch.setattr(packnet, "CACHE", 100)
    one._masked.clear()
    assert all(torch.equal(act(one, toy(k))[0], wanted[k]) for k in (0, 1, 0))
    assert len(one._masked) == 1


def test_the_words_do_not_change_the_route():
    one = Loop(learner("packnet")).tasks([toy(0), toy(1)])
    _, told = act(one, toy(0, sentence=1))
    assert bool((told["slot"] == 0).all())


def test_what_cannot_be_done():
    one = Loop(learner("packnet")).tasks([toy(0)])
    with pytest.raises(InvalidOption, match="packnet needs the number of the scene's own task at test"):
        one.route({}, {}, None)
    with pytest.raises(InvalidOption, match="packnet has learned 1 tasks; it was asked for task 3"):
        one.route({}, {}, torch.tensor([0, 3]))
    with pytest.raises(InvalidOption, match="labels for 255 tasks; task 255 is one more"):
        one.begin_task(255, TaskData(None, None))
    one.actor.more = nn.Linear(2, 2)
    with pytest.raises(InvalidOption, match="more is a plain Linear"):
        packnet.PackNet(one.actor, packnet.Settings(), one.generator)
    for wrong in ({"pruned": 1.0}, {"retrain_epochs": -1}):
        with pytest.raises(InvalidOption, match="must"):
            packnet.Settings(**wrong)


def test_settings():
    one = learner("packnet", pruned=0.0, retrain_epochs=0)
    assert (packnet.Settings().pruned, packnet.Settings().retrain_epochs) == (0.75, 10)
    assert one.phases(0) == (LEARN,)
    Loop(one).tasks([toy(0)])
    assert all(bool((owner == 1).all()) for owner in one.owner.buffers())
