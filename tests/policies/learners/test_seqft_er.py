"""Sequential fine-tuning, and replay beside it."""

import copy

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import er, seqft  # noqa: E402  # needs torch
from gym_grounding_policies.learners._base import LEARN  # noqa: E402
from policies.learners.plain_loop import Loop, learner, same, source, toy, weights  # noqa: E402

SIZES = (20, 40, 20)
TASKS = [toy(k, count) for k, count in enumerate(SIZES)]
RANDPERM = torch.randperm


def check_all_weights_move():
    """Every weight that has a gradient is another after each step, and none is left out."""
    before = {}

    def note(one, phase, batch):
        before.update(weights(one.actor))

    def check(one, phase, batch):
        for name, parameter in one.actor.named_parameters():
            assert parameter.grad is not None, name
            moved = parameter.detach() != before[name]
            assert bool(moved[parameter.grad != 0].all()), name

    one = Loop(learner("seqft"), before=note, watch=check).tasks(TASKS[:2])
    assert {id(p) for p in one.trainable(LEARN)} == {id(p) for p in one.parameters()}


def test_all_weights_move():
    check_all_weights_move()


def a_layer_is_left_out(patch):
    patch.setattr(seqft.SeqFt, "trainable", lambda self, phase: tuple(self.actor.parameters())[1:])


def a_layer_is_put_back(patch):
    def after_step(self, phase):
        with torch.no_grad():
            self.actor.head.logits.bias.zero_()

    patch.setattr(seqft.SeqFt, "after_step", after_step)


@pytest.mark.parametrize("fault", [a_layer_is_left_out, a_layer_is_put_back])
def test_weights_that_do_not_move_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_all_weights_move()


def check_nothing_is_kept():
    """A task is learned the same from a copy of the weights as in the sequence."""
    loop = Loop(learner("seqft"))
    loop.tasks(TASKS[:1])
    fresh = Loop(learner("seqft"))
    fresh.learner.load_state_dict(copy.deepcopy(loop.learner.state_dict()))
    fresh.layers.set_state(loop.layers.get_state())
    fresh.order.bit_generator.state = loop.order.bit_generator.state
    assert same(weights(loop.tasks([TASKS[1]], 1)), weights(fresh.tasks([TASKS[1]], 0)))


def test_nothing_but_the_weights_goes_from_task_to_task():
    check_nothing_is_kept()


def is_drawn_back_to_the_last_task(patch):
    def loss(self, batch, phase):
        if not hasattr(self, "starts"):
            self.starts = {}
        start = self.starts.setdefault(self.begun, self.actor.head.means.bias.detach().clone())
        nll = self.actor.nll(batch)
        return nll + (self.actor.head.means.bias - start).square().sum() if self.begun > 1 else nll

    patch.setattr(seqft.SeqFt, "loss", loss)


def keeps_what_was_seen(patch):
    def loss(self, batch, phase):
        self.seen = [*getattr(self, "seen", []), batch]
        return self.actor.nll(batch.joined(self.seen[0]))

    patch.setattr(seqft.SeqFt, "loss", loss)


@pytest.mark.parametrize("fault", [is_drawn_back_to_the_last_task, keeps_what_was_seen])
def test_something_that_is_kept_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_nothing_is_kept()


def check_the_second_wins(name="seqft", **settings):
    """Of two tasks that differ in their actions alone."""
    first, second = toy(0), toy(1, seed=0, sentence=0)
    one = Loop(learner(name, **settings), epochs=15).tasks([first, second]).eval()
    with torch.no_grad():
        assert float(one.actor.nll(second.whole)) < float(one.actor.nll(first.whole)) - 1


def test_of_two_contradicting_tasks_the_second_wins():
    check_the_second_wins()


def holds_the_first_task(patch):
    plain = seqft.SeqFt.loss
    patch.setattr(
        seqft.SeqFt, "loss", lambda self, batch, phase: plain(self, batch, phase) * (1 if self.begun == 1 else 0)
    )


def test_a_first_task_that_holds_out_is_found(monkeypatch):
    with pytest.raises(AssertionError):
        check_the_second_wins("er", share=1.0)
    holds_the_first_task(monkeypatch)
    with pytest.raises(AssertionError):
        check_the_second_wins()


def check_empty_memory():
    """While nothing is remembered it is fine-tuning to the last bit, and no longer."""
    assert same(weights(Loop(learner("er")).tasks(TASKS[:1])), weights(Loop(learner("seqft")).tasks(TASKS[:1])))
    empty = Loop(learner("er", share=0.0)).tasks(TASKS)
    assert same(weights(empty), weights(Loop(learner("seqft")).tasks(TASKS)))
    assert not same(weights(Loop(learner("er")).tasks(TASKS)), weights(Loop(learner("seqft")).tasks(TASKS)))


def test_replay_is_fine_tuning_while_nothing_is_remembered():
    check_empty_memory()


def replays_the_batch_itself(patch):
    def loss(self, batch, phase):
        return self.actor.nll(batch.joined(batch))

    patch.setattr(er.Er, "loss", loss)


def remembers_one_window_at_least(patch):
    kept = er.Settings.kept
    patch.setattr(er.Settings, "kept", lambda self, count: max(kept(self, count), 1))


def never_replays(patch):
    patch.setattr(er.Er, "loss", seqft.SeqFt.loss)


@pytest.mark.parametrize("fault", [replays_the_batch_itself, remembers_one_window_at_least, never_replays])
def test_replay_of_nothing_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_empty_memory()


def check_replay():
    """As many old windows as new ones in each batch; old tasks as often as they have windows in memory."""
    one, seen, joint = learner("er"), [], []
    plain = one.actor.nll

    def nll(batch):
        joint.append(batch.tasks.clone())
        return plain(batch)

    one.actor.nll = nll
    loop = Loop(one, epochs=6, size=8, watch=lambda one, phase, batch: seen.append(len(batch)))
    loop.tasks(TASKS[:2])
    joint.clear()
    seen.clear()
    loop.tasks(TASKS[2:], first=2)
    for tasks, new in zip(joint, seen, strict=True):
        assert len(tasks) == 2 * new
        assert bool((tasks[:new] == 2).all())
        assert bool((tasks[new:] < 2).all())
    replayed = torch.cat([tasks[new:] for tasks, new in zip(joint, seen, strict=True)])
    # 6 passes over 20 windows are 10 passes over the 4 + 8 in memory
    assert torch.bincount(replayed).tolist() == [40, 80]


def test_batches_are_half_old():
    check_replay()


def replays_the_present_task(patch):
    begin = er.Er.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        if self._memory:
            self._memory[0] = data.windows.subset(range(4))

    patch.setattr(er.Er, "begin_task", begin_task)


def replays_half_as_many(patch):
    draw = er._Stream.draw
    patch.setattr(er._Stream, "draw", lambda self, count, n: draw(self, max(count // 2, 1), n))


def replays_the_first_window_only(patch):
    patch.setattr(er._Stream, "draw", lambda self, count, n: er.np.zeros(count, int))


def replays_the_last_task_only(patch):
    draw = er._Stream.draw
    patch.setattr(er._Stream, "draw", lambda self, count, n: (n > 4) * 4 + draw(self, count, n - 4 or 4))


@pytest.mark.parametrize(
    "fault",
    [replays_the_present_task, replays_half_as_many, replays_the_first_window_only, replays_the_last_task_only],
)
def test_faults_of_replay_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_replay()


def check_memory():
    """The size is a fifth, rounded down, and what is remembered stays as it was."""
    loop, kept = Loop(learner("er")), []
    for k, windows in enumerate(TASKS):
        loop.tasks([windows], k)
        assert [len(one) for one in loop.learner._memory] == [4, 8, 4][: k + 1]
        kept.append(weights_of(loop.learner._memory[k]))
        assert all(same(weights_of(one), then) for one, then in zip(loop.learner._memory, kept, strict=True))
        assert loop.learner._kept[k] == sorted(set(loop.learner._kept[k]))


def weights_of(windows):
    return {"actions": windows.whole.actions.clone(), **windows.whole.observations}


def test_the_memory_is_a_fifth_of_each_task():
    check_memory()


def test_a_memory_of_another_size_or_that_changes_is_found(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(er.Settings, "kept", lambda self, count: round(self.share * count) + 1)
        with pytest.raises(AssertionError):
            check_memory()
    recall = er.Er.recall

    def forgets(self, k, data):
        recall(self, k, data)
        self._memory = [self._memory[-1]] * len(self._memory)

    monkeypatch.setattr(er.Er, "recall", forgets)
    with pytest.raises(AssertionError):
        check_memory()


def test_published_memories_are_settings():
    settings = er.Settings(memory="first")
    loop = Loop(learner("er", memory="first"))
    loop.tasks(TASKS[:1])
    assert loop.learner._kept == [[0, 1, 2, 3]]
    assert (settings.kept(8808), er.Settings(windows=1000).kept(8808), er.Settings(windows=1000).kept(20)) == (
        1761,
        1000,
        20,
    )
    for wrong, message in (({"memory": "last"}, "random or first"), ({"share": 1.5}, r"\[0, 1\]")):
        with pytest.raises(InvalidOption, match=message):
            er.Settings(**wrong)


def check_uniform(**settings):
    """Each window is remembered as often as another."""
    one, data = learner("er", **settings), Loop(learner("er")).data(TASKS[0])
    one.generator = source(5)
    for k in range(400):
        one.end_task(k, data)
        one._memory.clear()
        one._memory.extend([None] * (k + 1))
    often = torch.bincount(torch.tensor(one._kept).flatten(), minlength=20) / 400
    # five standard deviations of a share of 0.2 in 400 draws
    assert float((often - 0.2).abs().max()) < 0.1


def test_a_random_memory_is_uniform():
    check_uniform()


def test_the_first_windows_are_no_random_memory():
    with pytest.raises(AssertionError):
        check_uniform(memory="first")


def never_keeps_the_last_window(patch):
    patch.setattr(er.torch, "randperm", lambda count, generator: RANDPERM(count - 1, generator=generator))


def draws_the_same_each_time(patch):
    patch.setattr(er.torch, "randperm", lambda count, generator: RANDPERM(count, generator=source()))


@pytest.mark.parametrize("fault", [never_keeps_the_last_window, draws_the_same_each_time])
def test_a_memory_that_is_not_uniform_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_uniform()


def test_each_pass_of_each_task_and_seed_has_an_order_of_its_own():
    stream = er._Stream(3, 0)
    passes = [stream.draw(8, 8).tolist() for _ in range(3)]
    assert all(sorted(one) == list(range(8)) for one in passes)
    assert passes[0] != passes[1] != passes[2]
    whole = er._Stream(3, 0).draw(24, 8).tolist()
    assert whole == [number for one in passes for number in one]
    seeds = []
    for seed in range(2):
        loop = Loop(learner("er", seed=seed))
        for k in range(2):
            loop.tasks([TASKS[k]], k)
            seeds.append(loop.learner._stream.seed)
    assert len(set(seeds)) == 4


def test_replayed_windows_are_augmented_and_new_ones_not_once_more():
    one, augmented = learner("er"), []
    one.augment = lambda batch: augmented.append(batch.tasks.clone()) or batch
    Loop(one).tasks(TASKS[:2])
    assert torch.cat(augmented).tolist() == [0] * 80


def test_a_learner_that_was_not_given_its_memory_back_does_not_train():
    loop = Loop(learner("er"))
    loop.tasks(TASKS[:1])
    again = loop.restored(loop.saved(), [])
    with pytest.raises(AssertionError, match="were not recalled"):
        again.tasks([TASKS[1]], 1)


def check_joint_gradient():
    """With a full memory and as many old windows as new ones, a pass' mean gradient is that of joint training."""
    both = [TASKS[0], TASKS[2]]
    one = Loop(learner("er", share=1.0), epochs=1).tasks(both[:1])
    loop = Loop(one)
    one.begin_task(1, loop.data(both[1]))
    one.requires_grad_(True).eval()
    parameters = list(one.actor.parameters())
    batches = list(loop.read(both[1], None))
    sums = [torch.zeros_like(parameter) for parameter in parameters]
    for batch in batches:
        gradients = torch.autograd.grad(one.loss(batch, LEARN), parameters)
        for total, gradient in zip(sums, gradients, strict=True):
            total += gradient * len(batch) / 20
    joint = torch.autograd.grad(one.actor.nll(both[0].whole.joined(both[1].whole)), parameters)
    for total, gradient in zip(sums, joint, strict=True):
        torch.testing.assert_close(total, gradient, atol=1e-4, rtol=1e-3)


def test_with_a_full_memory_the_mean_gradient_is_that_of_joint_training():
    check_joint_gradient()


def old_windows_count_twice(patch):
    draw = er._Stream.draw
    patch.setattr(er._Stream, "draw", lambda self, count, n: draw(self, count, n).repeat(2))


def old_and_new_are_summed(patch):
    plain = er.Er.loss
    patch.setattr(er.Er, "loss", lambda self, batch, phase: 2 * plain(self, batch, phase))


@pytest.mark.parametrize(
    "fault", [old_windows_count_twice, old_and_new_are_summed, replays_the_first_window_only, never_replays]
)
def test_another_gradient_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_joint_gradient()


def test_fewer_demonstrations_than_were_remembered_of_are_an_error():
    loop = Loop(learner("er"))
    loop.tasks(TASKS[:2])
    with pytest.raises(InvalidOption, match=r"er remembers window \d+ of task 1, which has 2 windows now"):
        loop.restored(loop.saved(), [TASKS[0], TASKS[1].subset([0, 1])])
