"""What becomes a policy, how import strings are resolved, and what each refusal says."""

import sys

import numpy as np
import pytest

from gym_grounding.errors import InvalidOption, PolicyError, UnknownName
from gym_grounding.policy import (
    CallablePolicy,
    Policy,
    PolicySource,
    as_policy,
    load_policy,
    numbers_of,
    options_of,
    versions_of,
)

MODULE = '''
import numpy as np

class Greedy:
    """Counts how often it was made."""
    made = 0
    def __init__(self, gain=1.0, stage=None, seed=None):
        Greedy.made += 1
        self.gain, self.stage, self.seed = gain, stage, seed
    def start(self, instructions, seed):
        return None
    def act(self, observations, state):
        return np.zeros((1, 4)), state

class Plain:
    def start(self, instructions, seed):
        return None
    def act(self, observations, state):
        return np.zeros((1, 4)), state

class Seeded(Plain):
    def __init__(self, seed):
        self.seed = seed

class Reader(Plain):
    def __init__(self, registry="shipped"):
        self.registry = registry

class Hungry(Plain):
    def __init__(self, **anything):
        self.anything = anything

class Broken(Plain):
    def __init__(self):
        raise FileNotFoundError("no checkpoint at /nowhere")

class Half:
    def start(self, instructions, seed):
        return None

class Box:
    INSIDE = Plain()

POLICY = Plain()
NUMBER = 3

def reach(observation, instruction):
    return np.zeros(4)
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A folder with modules, as the current directory, like a user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "mine_policy.py").write_text(MODULE)
    (tmp_path / "mine_bad.py").write_text("import module_that_is_nowhere\n")
    (tmp_path / "mine_raises.py").write_text("raise RuntimeError('no graphics card')\n")
    (tmp_path / "mine_exits.py").write_text("import sys\nsys.exit(3)\n")
    yield "mine_policy"
    for name in [name for name in sys.modules if name.startswith("mine_")]:
        del sys.modules[name]


def test_instances_classes_functions_and_dotted_names(module):
    assert type(load_policy(f"{module}:POLICY")).__name__ == "Plain"
    assert type(load_policy(f"{module}:Box.INSIDE")).__name__ == "Plain"
    assert load_policy(f"{module}:Greedy", {"gain": 2.5}).gain == 2.5
    function = load_policy(f"{module}:reach")
    assert isinstance(function, CallablePolicy)
    assert isinstance(function, Policy)


def test_a_class_is_told_stage_and_seed_only_where_it_asks(module):
    greedy = load_policy(f"{module}:Greedy", stage=3, seed=100)
    assert (greedy.stage, greedy.seed) == (3, 100)
    assert load_policy(f"{module}:Seeded", stage=3, seed=100).seed == 100
    assert load_policy(f"{module}:Hungry", {"depth": 4}, stage=3, seed=100).anything == {"depth": 4}
    load_policy(f"{module}:Plain", stage=3, seed=100)
    assert load_policy(f"{module}:Greedy", {"stage": 7}, stage=3, seed=100).stage == 7
    assert load_policy(f"{module}:Reader", stage=3, registry="mine.yaml").registry == "mine.yaml"
    assert load_policy(f"{module}:Reader", {"registry": "own.yaml"}, registry="mine.yaml").registry == "own.yaml"
    assert load_policy(f"{module}:Reader", stage=3).registry == "shipped"


def test_a_source_makes_a_policy_again_only_for_another_stage_seed_or_registry(module):
    source = PolicySource(f"{module}:Greedy")
    first = source.get(0, 100)
    assert source.get(0, 100) is first
    assert source.get(1, 100) is not first
    reader = PolicySource(f"{module}:Reader")
    assert reader.get(0, 100, "a.yaml") is reader.get(1, 200, "a.yaml") is not reader.get(0, 100, "b.yaml")
    plain = PolicySource(f"{module}:Plain")
    assert plain.get(0, 100) is plain.get(1, 200)


def test_objects_are_accepted_as_they_are(module):
    class Local:
        def start(self, instructions, seed):
            return None

        def act(self, observations, state):
            return np.zeros((1, 4)), state

    policy = Local()
    assert load_policy(policy) is policy
    assert isinstance(load_policy(Local), Local)
    assert PolicySource(policy).description.endswith("Local")


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        (":POLICY", {}, "no import string: write MODULE:OBJECT"),
        ("mine_policy:", {}, "no import string: write MODULE:OBJECT"),
        ("mine_polcy:POLICY", {}, "no module 'mine_polcy'.*Did you mean 'mine_policy'"),
        ("mine_policy.py:POLICY", {}, "Write a module's name, not a file's"),
        ("mine_policy.deeper:POLICY", {}, "no module 'mine_policy.deeper'"),
        ("mine_policy:POLCY", {}, "has no 'POLCY'. Did you mean 'POLICY'"),
        ("mine_policy:Box.OUTSIDE", {}, "has no 'Box.OUTSIDE'. Did you mean 'INSIDE'"),
        ("mine_policy:Broken", {}, "could not be made with {}: FileNotFoundError: no checkpoint"),
        ("mine_policy:Greedy", {"gian": 1}, r"gain=1.0.*unexpected keyword argument 'gian'"),
        ("mine_policy:Half", {}, "it lacks act"),
        ("mine_policy:NUMBER", {}, "int is no policy: it lacks start and act"),
        ("mine_policy:POLICY", {"gain": 1}, "not a class, so it takes no options; got gain"),
        ("mine_bad:POLICY", {}, "needs a missing module: .*module_that_is_nowhere"),
        ("mine_raises:POLICY", {}, "importing mine_raises raised RuntimeError: no graphics card"),
        ("mine_exits:POLICY", {}, "importing mine_exits raised SystemExit"),
    ],
)
@pytest.mark.usefixtures("module")
def test_refusals_say_what_is_wrong(spec, options, message):
    with pytest.raises(PolicyError, match=message):
        load_policy(spec, options)


def test_a_name_without_object_is_a_reference_policys_even_where_a_module_has_it(module, tmp_path):
    (tmp_path / "oracle.py").write_text("raise RuntimeError('imported')")
    for name in ("oracle", "noisy-oracle", "noisy_oracle"):
        policy = load_policy(name)
        assert type(policy).__module__ == f"gym_grounding.reference.{name.replace('-', '_')}"
        assert PolicySource(name).description == name.replace("-", "_")
        assert PolicySource(name).file != tmp_path / "oracle.py"
    with pytest.raises(UnknownName, match=r"'mine_policy' is no MODULE:OBJECT such as my_policy:POLICY"):
        load_policy(module)
    assert PolicySource(f"{module}-x:POLICY").description == f"{module}-x:POLICY"


def test_options_are_json_or_text():
    given = ("p=0.5", "names=[1, 2]", "path=a=b", "flag=true", "text=")
    assert options_of(given) == {"p": 0.5, "names": [1, 2], "path": "a=b", "flag": True, "text": ""}
    for bad in ("nothing", "=1", "a b=1"):
        with pytest.raises(InvalidOption, match=f"--maker-option '{bad}': write KEY=VALUE"):
            options_of([bad], "--maker-option")


def test_the_file_of_a_policy_is_found_without_importing_it(module, tmp_path, monkeypatch):
    package = tmp_path / "mine_package" / "deep"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "__init__.py").write_text("")
    (package / "brain.py").write_text("POLICY = None")
    assert PolicySource("mine_package.deep.brain:POLICY").file == package / "brain.py"
    assert PolicySource("mine_package.deep:POLICY").file == package / "__init__.py"
    assert not any(name.startswith("mine_package") for name in sys.modules)
    for nowhere in ("mine_package.other:POLICY", "mine_policy.x:POLICY", "nowhere:POLICY", "sys:path", "", ":", ".a:b"):
        assert PolicySource(nowhere).file is None
    for thing in (load_policy(f"{module}:POLICY"), load_policy(f"{module}:reach").function, f"{module}:POLICY"):
        assert PolicySource(thing).file == tmp_path / f"{module}.py"


def test_a_required_argument_is_named(module):
    with pytest.raises(PolicyError, match="missing a required argument: 'seed'"):
        load_policy(f"{module}:Seeded")


def test_a_function_acts_on_each_row_with_its_own_instruction():
    def length(observation, instruction):
        return np.full(2, observation["x"][0] * len(instruction))

    policy = as_policy(length)
    state = policy.start(["ab", "abcd"], [0, 0])
    actions, state = policy.act({"x": np.array([[1.0], [10.0]])}, state)
    assert actions.tolist() == [[2.0, 2.0], [40.0, 40.0]]
    assert policy.mean_action({"x": np.array([[2.0], [3.0]])}, state).tolist() == [[4.0, 4.0], [12.0, 12.0]]


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        (np.ma.array(np.zeros((2, 4)), mask=[[0, 0, 0, 0], [0, 0, 1, 0]]), r"\[1, 2\]"),
        ([np.zeros(4), np.ma.array(np.zeros(4), mask=[0, 1, 0, 0])], r"\[1, 1\]"),
    ],
)
def test_masked_answers_are_no_numbers(answer, index):
    with pytest.raises(PolicyError, match=f"masked at {index}"):
        numbers_of(answer, (2, 4))
    row = CallablePolicy(lambda observation, instruction: answer[1])
    with pytest.raises(PolicyError, match=r"masked at \[\d\]"):
        row.act({"x": np.zeros((1, 1))}, ("go",))
    assert numbers_of(np.ma.zeros((2, 4)), (2, 4)).tolist() == [[0.0] * 4] * 2


def test_a_functions_observation_kind_is_kept():
    def blind(observation, instruction):
        return np.zeros(4)

    blind.observation = "state"
    assert as_policy(blind).observation == "state"
    assert not hasattr(as_policy(lambda observation, instruction: None), "observation")


def test_a_class_is_no_policy_by_itself():
    with pytest.raises(PolicyError, match="is a class; pass an instance"):
        as_policy(CallablePolicy)


class Versioned:
    def __init__(self, versions):
        self.versions = versions


def test_a_policy_may_say_what_its_code_is():
    assert versions_of(object()) == {}
    assert versions_of(Versioned({"my code": "12ab"})) == {"my code": "12ab"}


@pytest.mark.parametrize("versions", ["1.0", {"code": 1}, {1: "one"}, None])
def test_versions_are_text_by_name(versions):
    with pytest.raises(PolicyError, match=r"Versioned\.versions is"):
        versions_of(Versioned(versions))
