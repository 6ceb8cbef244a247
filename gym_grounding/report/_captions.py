"""What the tables say of themselves: what is measured, how, in which unit."""

from __future__ import annotations

from gym_grounding.metrics.collision import INITIATION


def _line(text: str) -> str:
    return " ".join(text.split())


BALANCE = _line(
    """Percent. Variants are equal within a task and tasks are equal; then mean ± sample standard deviation over seeds
    (no ± for one seed)."""
)
INTERVALS = "Brackets: 95 % Wilson interval over episodes. n: episodes / variants / tasks / seeds."
RATES = f"{BALANCE} {INTERVALS}"

CELLS = _line(
    """A cell is a stage, a variant, an initial state and a seed. Missing: neither an episode nor an error. Error: the
    last attempt ended in an error. Neither counts as a failed episode. Void: a goal already held right after settling;
    such episodes are left out of the rates that need the goal."""
)
COVERAGE = "The cells of the table above by condition; strict and permissive contrasts apart."
RUNS = f"Told the task: whether the policy is given the task's identity beside the instruction. {CELLS}"
ERRORS = "The last error of each cell that has no episode; the run's database holds the tracebacks."
VARIANTS = _line(
    f"""Last stage. Reached: number of episodes in which each goal held after at least one step; original and target
    (the variant's own goal, if it has one) by these names, goals of other tasks by task. At end: held after the
    last step. First held: median step over the episodes that reached it. Moved: episodes in which the hand moved at
    least {INITIATION} m. Success: by the goal that scores the variant, with Wilson's interval; where nothing scores it
    (collisions, null, negated, what is only described) there is none."""
)
ORACLE = _line(
    """Oracle: what a scripted expert showed of the instructed goal, and from how many of how many initial states it
    succeeded, as the registry certifies."""
)
SUMMARY = _line(
    f"""Last stage. Original: success with the canonical instruction. Paraphrase gap: original minus paraphrase, in
    points. GSA and persistence: contrasts that reach the instructed goal and never the original one, and those that
    reach the original one, by tier. OGP, CGAR, AIR: collisions that reach the original goal, that reach any canonical
    goal, and in which the hand moved at least {INITIATION} m. A policy that listens has a gap near 0, high GSA and low
    persistence; one that ignores its instruction has gap 0, GSA 0, and persistence and OGP as high as its success.
    {BALANCE} Brackets: 95 % intervals over episodes. The tables below give the numbers of episodes."""
)
MAIN = _line(
    f"""Success by the original goal. Gap: original minus paraphrase, in points; positive when paraphrases do worse.
    AUC: mean success on a task from the stage that trained it to the last (matrix AUC). {RATES} AUC and
    gaps: bootstrap over seeds and initial states (Newcombe's interval for gaps where that has no width)."""
)
CONTINUAL = _line(
    f"""NBT: fall in success after a task was learned, in points; lower is better. FWT and LIBERO's AUC need learning
    curves (curves.csv in the run directory). Last column: originals at the last stage. {BALANCE}"""
)
COMPARISONS = _line(
    """Method minus the method it stands against, in points, on the cells that both have (same variant, initial state
    and seed), last stage (AUC: all stages). Task-balanced mean ± sample standard deviation over seeds. Brackets: 95 %
    bootstrap interval over seeds and initial states. McNemar: exact test on the pairs in which the two differ; it
    takes pairs for independent. Holm: corrected for all pairs of methods under the same condition. Nothing
    follows from a large p. n: pairs / variants / tasks / seeds."""
)
BUDGET = _line(
    """Last stage. Smallest difference: what two methods must differ by, in points, to be told apart with a power of
    80 % at level 5 % by a paired test of so many episodes, if half of the pairs are discordant; with Holm's correction
    for many pairs it is larger. p of no gap: small where originals and paraphrases are shown to differ by less than ten
    points (two one-sided score tests, one pair per start); a large one shows nothing. n: episodes / variants / tasks /
    seeds."""
)
KINDS = _line(
    """Gap in final success (original minus paraphrase, points) for each type of paraphrase, over the tasks that have
    it. Brackets: 95 % bootstrap interval over seeds and initial states (Newcombe's where that has no width). n counts
    both sides."""
)
TIERS = {
    "strict": "Strict tier: exactly one slot of the instruction is changed and every construction rule passes.",
    "permissive": _line(
        """Permissive tier: contrasts that break a construction rule (several slots, lifts, goals on the original's
        path, reversed states); never pooled with the strict ones."""
    ),
}
REACH = _line(
    """Instructed goals count that a scripted oracle reached from some initial state, as the registry certifies; what
    was not shown reachable, or not measured, has rows of its own."""
)
STANDINGS = _line(
    f"""Last stage, goals as the variant's row says (controls: at some step). What the oracle showed of the instructed
    goal, by the registry's certificates. Stable: it still held after the hand had let go and drawn back; transient: it
    held for a moment only; trivial: it came true without a deed or by a touch, so an accidental nudge is counted as
    success here; not shown reachable: reached from none of the initial states that were tried, so that a failure says
    nothing of language. The other tables count the first three together. {RATES}"""
)
CONTRASTS = _line(
    f"""Target success: the instructed goal is reached. GSA: it is reached and the original one never. Original
    persistence: the original goal is reached although not asked for. Goals count as the variant's row says: at some
    step, or after the last. {RATES}"""
)
READINGS = _line(
    f"""All slots together. Some step: a goal counts when it held after at least one control step. Last step: both goals
    are read in the final state only. {RATES}"""
)
TRAINED = _line(
    f"""Trained: the instructed goal is the original goal of another task of the same scene; only there does a failure
    speak of language rather than of an unseen skill. GSA / own success: divided by the success of these goals under
    their own canonical instruction. {RATES}"""
)
COLLISIONS = _line(
    f"""AIR: the hand moved at least {INITIATION} m. OGP: the task's original goal is reached. CGAR: any canonical goal
    of the scene's tasks is. The last four columns add up to 100. Goals count when they held after at least one step.
    {RATES}"""
)
COLLISIONS_END = f"As above, all slots together, goals read after the last step only. {RATES}"
CONTROLS = _line(
    f"""Texts beside the cells, in the same scenes; evaluated where a plan names them. Success: by the goal that scores
    the text (swap and reverse: the instructed one; shuffled and noise: the original one). Original goal: reached
    although swap and null do not ask for it and negated forbids it. Any canonical goal: of the scene's tasks. Hand
    moved: at least {INITIATION} m. Opposite: what was asked for and was so already is undone. Goals
    count when they held after at least one step. The first row of each method, canonical, is the reference. {RATES}"""
)
SWAPS = _line(
    f"""Swap success beside the success of the same texts in the tasks to which they belong, and the first divided by
    the second: 1 where the policy does in the other task's scene what it does in the text's own. {RATES}"""
)
INITIATIONS = _line(
    f"""Share of episodes in which the hand moved at least so far from where it was after settling; {INITIATION} m is
    the default. Originals are the reference. {RATES}"""
)
ASKED = _line(
    """Each stored observation is asked as the first of an episode: a policy with memory answers without it, so what it
    would do later on the way cannot be seen here."""
)
ACTION = _line(
    f"""AD: distance between the mean actions under the original and the changed instruction, from the same stored
    observation, in units of the action space. LM: log density of the expert's action under the original minus under the
    changed instruction. {ASKED} Task-balanced means, ± over seeds. n: probes / variants / tasks / seeds."""
)
CORRELATIONS = _line(
    f"""Spearman's coefficient over (method, task) pairs of the last stage. Brackets: 95 % percentile bootstrap over
    pairs. n: pairs. {ASKED}"""
)
ROUTING = _line(
    f"""Last stage. Route: what a policy noted of which of its parts acted, beside the original instruction from the
    same initial state, task and seed. Route changed: share of episodes in which another part acted most. Shares moved:
    half the sum of the differences between the parts' shares, where a note holds shares. 0 where parts are chosen
    without words, as by a learner that is told its task. {RATES}"""
)
NOTES = _line(
    """Last stage. What a policy writes down of an episode by itself, beside its route; never scored.
    Each episode is compared with that of the original instruction from the same initial state, task and seed. Changed:
    share of episodes in which a whole number differs (percent). Mean distance: of other numbers. n: episodes."""
)
TASKS = f"By the original goal. {RATES}"
STAGES = _line(
    f"""Row: stage (0-based position in the training order) after which the policy was evaluated. A task has no entry
    before its own stage. {BALANCE}"""
)
