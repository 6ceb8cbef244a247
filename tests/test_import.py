"""Importing the package registers ids and does nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gym_grounding

HEAVY = ("torch", "libero", "robosuite", "mujoco", "stable_baselines3", "h5py", "matplotlib", "scipy", "moviepy", "cv2")


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


def test_import_is_quiet_light_and_leaves_no_trace(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    code = (
        "import os, sys\n"
        "os.close(0)\n"
        "before = dict(os.environ), os.getcwd(), list(sys.path)\n"
        "import gym_grounding, gymnasium\n"
        "ids = [name for name in gymnasium.registry if name.startswith('Grounding/')]\n"
        "assert len(ids) >= 100, len(ids)\n"
        "env = gymnasium.make(ids[0])\n"
        "env.observation_space, env.action_space, env.spec, env.metadata\n"
        "env.close()\n"
        "assert before == (dict(os.environ), os.getcwd(), list(sys.path))\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    done = run(code, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(home.iterdir()) == []


def test_facts_need_no_simulator_package():
    """Spec, spaces and metadata with every simulator package made unimportable."""
    code = (
        "import sys, json\n"
        f"for name in {HEAVY!r}: sys.modules[name] = None\n"
        "import gymnasium\n"
        "out = {}\n"
        "for kind in ('pixels', 'state', 'both'):\n"
        "    env = gymnasium.make('gym_grounding:Grounding/LiberoGoal-T8-ContrastTarget1-v0', observation=kind)\n"
        "    keys, actions = sorted(env.observation_space), env.action_space.shape\n"
        "    out[kind] = [keys, actions, env.spec.id, env.metadata['render_fps']]\n"
        "print(json.dumps(out))\n"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["pixels"][1:] == [[7], "Grounding/LiberoGoal-T8-ContrastTarget1-v0", 20]
    assert {"agentview_image", "robot0_eye_in_hand_image", "robot0_eef_pos", "instruction"} <= set(facts["pixels"][0])
    assert "akita_black_bowl_1_pos" in facts["state"][0]
    assert set(facts["both"][0]) == set(facts["pixels"][0]) | set(facts["state"][0])


def test_a_broken_shipped_registry_is_a_warning(tmp_path):
    """The validator has to start, to say what is wrong with the file."""
    ignored = shutil.ignore_patterns("__pycache__", "libero")
    shutil.copytree(Path(gym_grounding.__file__).parent, tmp_path / "gym_grounding", ignore=ignored)
    (tmp_path / "gym_grounding" / "registry.yaml").write_text("format: [")
    done = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import gym_grounding; print(gym_grounding.__file__)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "gym_grounding" / "__init__.py"))
    assert "no ids were registered" in done.stderr
    assert "registry.yaml: line 2: malformed YAML" in done.stderr
