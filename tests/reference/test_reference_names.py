"""Reference policies are found by name, wherever a policy is named, and keep the contract of policies."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gym_grounding import make, reference
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.policy import PolicySource, load_policy
from gym_grounding.testing import TOY_REGISTRY, check_policy

NAMES = ("deaf", "noisy_oracle", "oracle", "random", "still")
PRIVILEGED = ("deaf", "noisy_oracle", "oracle")


def test_the_folder_is_the_list():
    assert reference.names() == NAMES
    assert reference.get("noisy-oracle") is reference.get("noisy_oracle")
    for name in NAMES:
        policy = reference.get(name)
        assert isinstance(policy, type)
        assert policy.__module__ == f"gym_grounding.reference.{name}"
        assert sys.modules[policy.__module__].__doc__.count("Expected: ") == 1
        assert (policy.needs_task_identity, getattr(policy, "observation", None)) == (
            (True, "state") if name in PRIVILEGED else (False, None)
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_policy(name):
    policy = load_policy(name, registry=TOY_REGISTRY)
    assert type(policy) is reference.get(name) is type(load_policy(name.replace("_", "-"), registry=TOY_REGISTRY))
    source = PolicySource(name.replace("_", "-"))
    assert source.description == name
    assert source.file == Path(reference.__file__).parent / f"{name}.py"
    assert source.observation == getattr(policy, "observation", None)


def test_options_and_the_registry_reach_the_class():
    text, task = "put the block on the chest", "Toy-T0"
    observation, _ = make("Toy-T0-ContrastTarget1", TOY_REGISTRY, observation="state").reset(seed=0)
    shown = {key: value[None] for key, value in observation.items()}

    def first(name, options=None):
        policy = load_policy(name, options, registry=TOY_REGISTRY)
        return policy.act(shown, policy.start([text], [3], tasks=[task]))[0]

    assert np.array_equal(first("noisy-oracle", {"p": 0.0}), first("deaf"))
    assert np.array_equal(first("noisy-oracle", {"p": 1}), first("oracle"))
    assert load_policy("still", {"size": 5}).start([text], [0]).shape == (1, 5)
    with pytest.raises(UnknownName, match="No task 'Toy-T0'"):
        load_policy("deaf").start([text], [0], tasks=[task])
    assert load_policy("deaf", {"registry": TOY_REGISTRY}).start([text], [0], tasks=[task])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orcale", "policy 'orcale' is no MODULE:OBJECT .*No reference policy 'orcale'. Did you mean 'oracle'"),
        ("noisy oracle", "Did you mean 'noisy_oracle'"),
        ("my_policy", "no MODULE:OBJECT such as my_policy:POLICY.*Known: deaf, noisy_oracle, oracle, random, still"),
        ("_guided", "No reference policy"),
        ("", "policy '' is no MODULE:OBJECT"),
        ("os.path", "No reference policy"),
    ],
)
def test_other_names_are_refused(name, message):
    for call in (load_policy, lambda name: PolicySource(name).observation):
        with pytest.raises(UnknownName, match=message):
            call(name)
    assert PolicySource(name).file is None or name == "_guided"


@pytest.mark.parametrize("p", [-0.1, 1.1, "half", True, None, [0.5], float("nan")])
def test_p_is_a_probability(p):
    with pytest.raises(PolicyError, match=r"InvalidOption: p is .*give a probability, 0 to 1"):
        load_policy("noisy_oracle", {"p": p})


@pytest.mark.parametrize("name", NAMES)
def test_the_contract(name):
    env = make("Toy-T0-Original", TOY_REGISTRY, observation="state")
    texts = ["put the block on the tray", "put the block on the chest", "put the kettle on the tray"]
    policy = load_policy(name, registry=TOY_REGISTRY)
    check_policy(policy, env.observation_space, env.action_space, texts, tasks=["Toy-T0"] * 3)


def test_a_worker_makes_them_too(tmp_path):
    command = [sys.executable, "-m", "gym_grounding", "evaluate", "--policy", "noisy-oracle", "--policy-option", "p=1"]
    plan = ["--suite", "Toy", "--registry", TOY_REGISTRY, "--tasks", "2", "--init-states", "0", "--workers", "1"]
    done = subprocess.run([*command, *plan, "--out", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 ended in an error" in done.stdout


def test_importing_needs_no_simulator():
    heavy = ("torch", "h5py", "libero", "robosuite", "mujoco", "scipy", "matplotlib")
    code = (
        "import sys\n"
        "from gym_grounding import reference\n"
        "for name in reference.names(): reference.get(name)()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
