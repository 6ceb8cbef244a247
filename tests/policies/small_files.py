"""Small demonstration files in LIBERO's layout, with and without what is added to it."""

import h5py
import numpy as np

from gym_grounding.demos.layout import columns
from gym_grounding.demos.write import Recorded, assemble, write_part
from gym_grounding.types import Goal, Slots, Task

THINGS = {"bowl_1": 0, "plate_1": 0, "wooden_cabinet_1": 3}
"""Name -> joints."""


def task(name="put_the_bowl_on_the_plate", index=0):
    text = name.replace("_", " ")
    return Task(f"Mini-T{index}", "Mini", index, name, "mini", text, text, Slots(), Goal(()), "scene", 1)


def observations(rng, rows, things=THINGS, side=0):
    """The environment's observations, (rows, ...)."""
    turned = rng.normal(size=(rows, 4))
    found = {
        "robot0_joint_pos": rng.normal(size=(rows, 7)),
        "robot0_joint_vel": rng.normal(size=(rows, 7)),
        "robot0_gripper_qpos": rng.uniform(0, 0.04, (rows, 2)),
        "robot0_eef_pos": rng.normal(size=(rows, 3)),
        "robot0_eef_quat": turned / np.linalg.norm(turned, axis=1, keepdims=True),
    }
    for name, joints in things.items():
        quat = rng.normal(size=(rows, 4))
        found[f"{name}_pos"] = rng.normal(size=(rows, 3))
        found[f"{name}_quat"] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
        if joints:
            found[f"{name}_joint_pos"] = rng.uniform(-0.2, 0.2, (rows, joints))
        else:
            found[f"{name}_to_robot0_eef_pos"] = rng.normal(size=(rows, 3))
    if side:
        for key in ("agentview_image", "robot0_eye_in_hand_image"):
            found[key] = rng.integers(0, 256, (rows, side, side, 3), np.uint8)
    return found


def write(path, task, lengths=(5, 9, 1), seed=0, things=THINGS, side=0, added=True, clean=True):
    """Writes a file as `gym-grounding demos` does, or with ``added=False`` as LIBERO does; gives the observations.

    Returns the observations (T + 1, ...), the executed and the clean actions of each demonstration.
    """
    rng, parts, truth = np.random.default_rng(seed), [], []
    path.parent.mkdir(parents=True, exist_ok=True)
    for number, length in enumerate(lengths):
        seen = observations(rng, length + 1, things, side)
        executed, wanted = rng.uniform(-1, 1, (2, length, 7))
        rows = columns(rng.normal(size=(length, 4)), executed, wanted, {key: rows[1:] for key, rows in seen.items()})
        if not clean:
            del rows["clean_actions"]
        kept = {key: rows for key, rows in seen.items() if not key.endswith("_image")} if added else {}
        header = {"problem_info": {"language_instruction": task.source_instruction}, "task": task.id}
        parts.append(path.with_name(f"part_{number}.hdf5"))
        write_part(parts[-1], Recorded(rows, kept, {"num_samples": length}, header))
        truth.append((seen, executed, wanted if clean else executed))
    assemble(path, parts, {})
    for part in parts:
        part.unlink()
    return truth


def spoil(path, change):
    """Changes a file's group ``data`` in place."""
    with h5py.File(path, "r+") as file:
        change(file["data"])
    return path
