"""What every metric must say of the policies on the plan of ``staged``, worked out without the metrics.

Three things are known beforehand: which goals an expert reaches in time when it is given them without words
(``certified``), what it does at the stored moments (``answers``), and which goal each policy follows in each episode.
Everything else is arithmetic, done here by hand.
"""

from dataclasses import dataclass

import numpy as np
from staged import HORIZON, INIT_STATE, LAST, NOT_HEARD, ORDER, SETTINGS, knows

from gym_grounding import adapters, conditions, manifest
from gym_grounding.experts import Expert, trial
from gym_grounding.manifest import NOT_MEASURED, NOT_SHOWN, standing
from gym_grounding.metrics import Scope
from gym_grounding.plan import episode_seed
from gym_grounding.probe import load_observations
from gym_grounding.records import Cell

OWN, TARGET, NOTHING = "original", "target", None
"""Goals that a policy can follow: the task's own, the variant's, none."""
IDLE = np.array([0.0] * 6 + [-1.0])
PARTS = {"Noise1": "one_error", "Reverse1": "asks_for_change", "Reverse2": "is_so_already"}


def deaf(row, cell):
    """The task's goal, whatever the words."""
    return OWN


def oracle(row, cell):
    """What the words ask for."""
    asks_own = row.condition in ("original", "paraphrase", "shuffled", "noise") or row.described
    return OWN if asks_own else TARGET if row.goal is not None else NOTHING


def idle(row, cell):
    """Nothing, ever."""
    return NOTHING


def learner(row, cell):
    """What the words ask for where it knows the task and the type of paraphrase."""
    return oracle(row, cell) if knows(row.task, cell.stage) and row.kind != NOT_HEARD else NOTHING


def noisy(p):
    """The oracle in the episodes whose seed draws a number below p, else the deaf policy."""
    return lambda row, cell: (oracle if listens(cell, p) else deaf)(row, cell)


def listens(cell, p):
    """Whether a noisy oracle listens in a cell's episode."""
    return np.random.default_rng(episode_seed(cell)).random() < p


def goal_of(book, row, followed):
    """The goal that a policy follows."""
    return {OWN: book.task(row.task).goal, TARGET: row.goal, NOTHING: None}[followed]


class Facts:
    """What experts do when they are given goals without words.

    Attributes:
        certified: (task, goal) -> first step at which the goal held; -1 never, 0 at the start.
    """

    def __init__(self, plan, moments):
        self.plan, self.book = plan, manifest.load()
        self.rows = {row.id: row for row in plan.variants(self.book, LAST)}
        self.certified, self._answers = {}, {}
        tasks = {row.id: row for row in self.book.scene_tasks(self.book.task(ORDER[0]).scene)}
        facts, adapter = self.book.scene_of(ORDER[0]), adapters.get("libero")
        self._anatomy = adapter.anatomy(facts, tasks)
        scene = adapter.open(facts, tasks, SETTINGS)
        for row in self.rows.values():
            self._certify(scene, row, goal_of(self.book, row, oracle(row, None) or OWN))
        scene.close()
        self._moments = load_observations(moments)

    def _certify(self, scene, row, goal):
        key = (row.task, goal, bool(row.joints))
        if key not in self.certified:
            task, joints = self.book.task(row.task), row.joints
            done = trial.run(scene, task, INIT_STATE, goal, anatomy=self._anatomy, joints=joints, horizon=HORIZON)
            self.certified[key] = done.first

    def first(self, row, followed):
        """The step at which a policy that follows a goal first reaches it; -1 never, 0 when it is so at the start."""
        goal = goal_of(self.book, row, followed)
        return -1 if goal is None else self.certified[row.task, goal, bool(row.joints)]

    def answers(self, task, goal):
        """What the expert does at each stored moment of a task, shape (moments, n), and what was done there."""
        stored = self._moments[task]
        if (task, goal) not in self._answers:
            expert = None if goal is None else Expert(self._anatomy, goal)
            shown = [{key: array[at] for key, array in stored.observations.items()} for at in range(len(stored.names))]
            done = [IDLE if expert is None else expert.answer(one) for one in shown]
            self._answers[task, goal] = np.array(done, np.float64)
        return self._answers[task, goal], np.array(stored.expert_actions, np.float64)

    def owner(self, row):
        """The task of the scene whose original goal a variant asks for; None without one."""
        tasks = [] if row.goal is None else self.book.scene_tasks(self.book.task(row.task).scene)
        return next((one.id for one in tasks if one.goal == row.goal and one.id != row.task), None)


@dataclass(frozen=True)
class Outcome:
    """What an episode shows: goals reached (0 or 1), hand moved, own goal so at the start."""

    original: float
    target: float
    moved: float
    void: bool


RATES = {
    "success": lambda row, o: o.original if conditions.scored_by(row) == OWN else o.target,
    "final_success": lambda row, o: o.original,
    "success_at_end": lambda row, o: o.original,
    "target_success": lambda row, o: o.target,
    "goal_switch_accuracy": lambda row, o: o.target * (1 - o.original),
    "original_persistence": lambda row, o: o.original,
    "both_goals": lambda row, o: o.target * o.original,
    "neither_goal": lambda row, o: (1 - o.target) * (1 - o.original),
    "action_initiation": lambda row, o: o.moved,
    "original_goal_persistence": lambda row, o: o.original,
    "canonical_goal_activation": lambda row, o: o.original,
    "outcome_original": lambda row, o: o.original,
    "outcome_other": lambda row, o: 0,
    "outcome_multiple": lambda row, o: 0,
    "outcome_none": lambda row, o: 1 - o.original,
    "control_success": lambda row, o: o.original if conditions.scored_by(row) == OWN else o.target,
    "control_original": lambda row, o: o.original,
    "control_initiation": lambda row, o: o.moved,
    "control_opposite": lambda row, o: o.target,
}
"""Quantity -> its value in one episode. What is put somewhere stays: all readings agree. Nobody strays to a third goal.
"""
LEFT_OUT = {
    "success": lambda row, o: conditions.scored_by(row) is None,
    "control_success": lambda row, o: conditions.scored_by(row) is None,
    "control_original": lambda row, o: o.void,
    "control_canonical": lambda row, o: o.void,
    "control_opposite": lambda row, o: not row.described,
}


class Theory:
    """Expected values of one policy.

    Args:
        follows: (row, cell) -> the goal that the policy follows there.
        moves: whether the hand moves; None for policies that move when they have something to do.
        curves: task -> its learning curve, as values of its epochs; None without curves.
        density: what its log density is: ``normal`` around the mean action, ``flat``, or None.
        probed: whether it was probed.
        reach: variant -> what an oracle showed of its goal; None for what the registry says.
    """

    def __init__(self, facts, plan, follows, moves=None, curves=None, density=None, probed=True, reach=None):
        self.facts, self.plan, self.follows, self.moves, self.curves = facts, plan, follows, moves, curves
        self.density, self.probed = density, probed
        rows = self.facts.rows.values()
        self.reach = {row.id: standing(row) for row in rows if row.goal is not None} if reach is None else reach

    def outcome(self, row, stage):
        """What an episode shows."""
        followed = self.follows(row, Cell(stage, row.id, INIT_STATE, 0))
        void = self.facts.certified.get((row.task, goal_of(self.facts.book, row, OWN), bool(row.joints))) == 0
        first = self.facts.first(row, followed)
        done = float(first > 0)
        moved = float(first != 0 and followed is not NOTHING) if self.moves is None else float(self.moves)
        return Outcome(done * (followed is OWN), done * (followed is TARGET), moved, void)

    def rows(self, scope):
        """The variants that a scope covers."""
        agree = [
            ("condition", lambda row: row.condition),
            ("tier", lambda row: row.tier),
            ("slot", lambda row: row.slot),
            ("task", lambda row: row.task),
            ("variant", lambda row: row.id),
            ("kind", lambda row: row.kind or PARTS.get(row.id.rpartition("-")[2])),
            ("trained", lambda row: self.facts.owner(row) is not None),
        ]
        chosen = self.plan.variants(self.facts.book, LAST if scope.stage is None else scope.stage)
        for name, of in agree:
            wanted = getattr(scope, name)
            chosen = [row for row in chosen if wanted is None or of(row) == wanted]
        if scope.reach is not None:
            return [row for row in chosen if self.reach.get(row.id) == scope.reach]
        return [row for row in chosen if scope.variant or self.reach.get(row.id) not in (NOT_SHOWN, NOT_MEASURED)]

    def counted(self, quantity, scope):
        """(row, value) of the variants that count for a rate."""
        stage = LAST if scope.stage is None else scope.stage
        found = [(row, self.outcome(row, stage)) for row in self.rows(scope)]
        left_out = LEFT_OUT.get(quantity, lambda row, o: False)
        return [(row, self._indicator(quantity, row, o)) for row, o in found if not left_out(row, o)]

    def _indicator(self, quantity, row, o):
        if quantity == "control_canonical":  # an instructed goal that is another task's counts
            return max(o.original, o.target * (self.facts.owner(row) is not None))
        return RATES[quantity](row, o)

    def value(self, quantity, scope):
        """The expected value; None where there is nothing to compute it from."""
        if quantity in RATES or quantity == "control_canonical":
            return balanced(self.counted(quantity, scope))
        return getattr(self, quantity)(scope)

    def column(self, condition, stage):
        """position of a task -> its success at a stage."""
        rows = [row for row in self.plan.variants(self.facts.book, stage) if row.condition == condition]
        found = [(row, self.outcome(row, stage).original) for row in rows]
        return {ORDER.index(task): balanced([one for one in found if one[0].task == task]) for task in tasks_of(found)}

    def matrix(self, condition):
        """c[t, k], the success on task k after stage t; None where it was not evaluated at every stage."""
        if len(self.plan.stages) < len(ORDER):
            return None
        return {(t, k): value for t in range(len(ORDER)) for k, value in self.column(condition, t).items()}

    def auc(self, scope):
        """Mean over tasks of the mean over the stages from the task's own on."""
        c = self.matrix(scope.condition)
        return c and float(np.mean([np.mean([c[t, k] for t in range(k, len(ORDER))]) for k in range(len(ORDER))]))

    def nbt(self, scope):
        """Mean over all tasks but the last of the mean fall since the task's own stage."""
        c = self.matrix(scope.condition)
        falls = c and [[c[k, k] - c[t, k] for t in range(k + 1, len(ORDER))] for k in range(len(ORDER) - 1)]
        return falls and float(np.mean([np.mean(one) for one in falls]))

    def forward_transfer(self, scope):
        """Mean over tasks of the mean of the curve, which here rises to its best value and stays."""
        return self.curves and float(np.mean([np.mean(curve) for curve in self.curves.values()]))

    def libero_auc(self, scope):
        """As AUC, with the mean of the curve in place of c[k, k]."""
        if self.curves is None:
            return None
        c, areas = self.matrix("original"), []
        for k, task in enumerate(ORDER):
            areas.append(np.mean([np.mean(self.curves[task]), *(c[t, k] for t in range(k + 1, len(ORDER)))]))
        return float(np.mean(areas))

    def paraphrase_gap(self, scope):
        """Mean over tasks that have both of original minus paraphrases."""
        rows = self.rows(scope)
        found = [(row, self.outcome(row, scope.stage).original) for row in rows]
        own = self.column("original", scope.stage)
        gaps = [own[ORDER.index(t)] - balanced([one for one in found if one[0].task == t]) for t in tasks_of(found)]
        return float(np.mean(gaps)) if gaps else None

    def paraphrase_gap_auc(self, scope):
        """AUC of the originals minus that of the paraphrases."""
        one, two = (self.auc(Scope(condition=condition)) for condition in ("original", "paraphrase"))
        return None if one is None or two is None else one - two

    def normalised_goal_switch(self, scope):
        """Switches to goals of evaluated tasks, divided by these tasks' own success."""
        return self._beside("goal_switch_accuracy", scope, self.facts.owner, divided=True)

    def swap_normalised(self, scope):
        """Swaps beside their texts' own tasks."""
        return self._beside("control_success", scope, lambda row: row.details["instruction_of"], divided=True)

    def swap_own_success(self, scope):
        """Success of the tasks whose texts the swaps carry."""
        return self._beside("control_success", scope, lambda row: row.details["instruction_of"], divided=False)

    def _beside(self, quantity, scope, owner, divided):
        own = self.column("original", LAST)
        pairs = [(row, value) for row, value in self.counted(quantity, scope) if owner(row) in ORDER]
        if not pairs or not own:
            return None
        below = balanced([(row, own[ORDER.index(owner(row))]) for row, _ in pairs])
        return below if not divided else balanced(pairs) / below if below else None

    def action_divergence(self, scope):
        """Distance between what is done at a moment under the two texts, moments equal within a variant."""
        distances = [(row, np.linalg.norm(one - two, axis=1).mean()) for row, one, two, _ in self._asked(scope)]
        return balanced(distances)

    def language_margin(self, scope):
        """How much farther the stored action lies from the answer under the variant: halves of squared distances."""
        if self.density is None:
            return None
        found = []
        for row, one, two, done in self._asked(scope):
            far, near = (((side - done) ** 2).sum(axis=1) / 2 for side in (two, one))
            found.append((row, (far - near).mean() if self.density == "normal" else 0.0))
        return balanced(found)

    def _asked(self, scope):
        for row in self.rows(scope):
            if not self.probed or row.condition == "original" or row.joints:
                continue
            (original,) = self.facts.book.select(tasks=[row.task], conditions=["original"])
            count = len(self.facts.answers(row.task, None)[0])
            sides = []
            for said in (original, row):
                # the seed of a moment is that of the variant's cell, with the moment's number for initial state
                stage = LAST if scope.stage is None else scope.stage
                cells = [Cell(stage, row.id, at, 0) for at in range(count)]
                goals = [goal_of(self.facts.book, said, self.follows(said, cell)) for cell in cells]
                sides.append(np.array([self.facts.answers(row.task, goal)[0][at] for at, goal in enumerate(goals)]))
            yield row, *sides, self.facts.answers(row.task, None)[1]


def tasks_of(found):
    """The tasks of (row, value) pairs."""
    return sorted({row.task for row, _ in found})


def balanced(found):
    """Mean over tasks of the mean over a task's variants; None of nothing."""
    if not found:
        return None
    return float(np.mean([np.mean([value for row, value in found if row.task == task]) for task in tasks_of(found)]))
