"""Loads demonstration files with LIBERO's own dataset reader, to see that it takes them.

LIBERO's reader (`libero/lifelong/datasets.py`) is no part of its wheels and stands on robomimic 0.2.0, which asks for a
renderer that is not needed to read files. In an environment of its own:

    python -m venv readers
    readers/bin/pip install torch torchvision h5py tqdm termcolor psutil imageio pillow six tensorboardX
    readers/bin/pip install --no-deps robomimic==0.2.0
    readers/bin/python benchmarks/demo_readers.py demos/*/*_demo.hdf5 --reader LIBERO/libero/lifelong/datasets.py

Without `--reader`, robomimic's SequenceDataset alone is used, with the arguments that LIBERO gives it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

LOW_DIM = ["gripper_states", "joint_states", "ee_states"]
PICTURES = ["agentview_rgb", "eye_in_hand_rgb"]
"""What LIBERO's training settings read (`configs/data/default.yaml`), and hand states, which are optional there."""
SEQUENCE = 10


def dataset(path: Path, reader: Path | None, keys: dict[str, list[str]]) -> tuple[Any, dict[str, Any]]:
    """The file as LIBERO's `get_dataset` opens it, and the shapes that it found."""
    import robomimic.utils.file_utils as file_utils
    import robomimic.utils.obs_utils as obs_utils
    from robomimic.utils.dataset import SequenceDataset

    if reader is not None:
        spec = importlib.util.spec_from_file_location("libero_datasets", reader)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found: tuple[Any, dict[str, Any]] = module.get_dataset(
            dataset_path=str(path), obs_modality=keys, initialize_obs_utils=True, seq_len=SEQUENCE
        )
        task_dataset = module.SequenceVLDataset(found[0], task_emb=np.zeros(4))
        return task_dataset, found[1]
    obs_utils.initialize_obs_utils_with_obs_specs({"obs": keys})
    shapes = file_utils.get_shape_metadata_from_dataset(
        dataset_path=str(path), all_obs_keys=[key for kind in keys.values() for key in kind], verbose=False
    )
    sequences = SequenceDataset(
        hdf5_path=str(path),
        obs_keys=shapes["all_obs_keys"],
        dataset_keys=["actions"],
        load_next_obs=False,
        frame_stack=1,
        seq_length=SEQUENCE,
        pad_frame_stack=True,
        pad_seq_length=True,
        get_pad_mask=False,
        goal_mode=None,
        hdf5_cache_mode="low_dim",
        hdf5_use_swmr=False,
        hdf5_normalize_obs=None,
        filter_by_attribute=None,
    )
    return sequences, shapes


def check(path: Path, reader: Path | None) -> str:
    """Read everything that the reader gives, compare it with the file, and say what it was."""
    with h5py.File(path, "r") as file:
        data = file["data"]
        drawn = "obs/agentview_rgb" in data["demo_0"]
        actions = {name: data[name]["actions"][()] for name in data}
        joints = {name: data[name]["obs/joint_states"][()] for name in data}
        info = json.loads(data.attrs["problem_info"])
        environment = json.loads(data.attrs["env_args"])
    keys = {"low_dim": LOW_DIM, "rgb": PICTURES if drawn else [], "depth": [], "scan": []}
    sequences, shapes = dataset(path, reader, keys)
    rows = sum(len(one) for one in actions.values())
    assert sequences.n_demos == len(actions), (sequences.n_demos, len(actions))
    assert len(sequences) == rows, (len(sequences), rows)
    position = 0
    for name in sorted(actions, key=lambda name: int(name.removeprefix("demo_"))):
        item = sequences[position]
        size = min(SEQUENCE, len(actions[name]))
        assert np.allclose(item["actions"][:size], actions[name][:size])
        assert np.allclose(item["obs"]["joint_states"][:size], joints[name][:size])
        if drawn:
            assert item["obs"]["agentview_rgb"].shape[0] == SEQUENCE
        position += len(actions[name])
    return (
        f"{path}: {sequences.n_demos} demonstrations, {len(sequences)} sequences, actions {shapes['ac_dim']}, "
        f"{info['language_instruction']!r}, {environment['env_name']}, "
        + ", ".join(f"{key} {tuple(shape)}" for key, shape in shapes["all_shapes"].items())
    )


def main(arguments: list[str] | None = None) -> int:
    """Load every file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--reader", type=Path, help="LIBERO's libero/lifelong/datasets.py")
    options = parser.parse_args(arguments)
    for path in options.files:
        print(check(path, options.reader))
    return 0


if __name__ == "__main__":
    sys.exit(main())
