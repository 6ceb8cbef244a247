"""What a policy is, and how any callable becomes one.

A policy is handed the registry's instruction itself, observations as stacked arrays, and its own state back. State is
a value that the caller keeps, so episodes can be batched, stopped and resumed.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption, PolicyError
from gym_grounding.pictures import Reading

Observations = Mapping[str, NDArray[Any]]
State = Any

REFERENCE = "gym_grounding.reference"
"""Package of the reference policies. They use what is above this module, so it is imported when one is asked for."""


@runtime_checkable
class Policy(Protocol):
    """The protocol; B is the number of episodes that run side by side.

    Optional attributes and methods, looked up by name:
        needs_task_identity (bool): ``start`` also gets ``tasks=``, the task id of each scene, such as
            ``LiberoGoal-T3``. The records say so. Without it a policy never learns the task except from the words.
        observation (str): the observation kind it was made for: pixels, state or both.
        versions (mapping, name -> text): of code that decides what it does, kept in the run's header and compared when
            a run goes on. Its module's file and files among its options are known without it.
        mean_action(observations, state) -> (B, n) float array: the deterministic action; used by the probes.
        log_prob(observations, state, actions) -> (B,) float array: log density of given actions; used by the probes.
        remarks(state) -> B sentences: what it is doing, in words; shown in films.
        notes(state) -> B dicts, name -> number or list of numbers: what to keep of each episode, such as which of its
            parts acted. Asked for once, when an episode ends; kept with its record and never scored.
    Row i of every result may depend on row i of the arguments only.
    """

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> State:
        """Begin B episodes; ``seed`` has one integer per episode and is the only source of randomness."""
        ...

    def act(self, observations: Observations, state: State) -> tuple[NDArray[np.floating[Any]], State]:
        """Actions of shape (B, n) in [-1, 1] for observations stacked along axis 0, and the next state.

        Pictures may be drawn only when the mapping is asked for them, so a policy that plays several actions per look
        does best to leave them alone in between. ``dict(observations)`` has them all.
        """
        ...


class CallablePolicy:
    """A function of (observation, instruction) as a policy; it is called once per episode and step.

    It gets no seed: one that draws random numbers is not repeatable.

    Args:
        function: gets the observation of one episode (arrays without batch axis) and its instruction, returns an
            action of shape (n,).
    """

    needs_task_identity = False

    def __init__(self, function: Callable[[Mapping[str, NDArray[Any]], str], Any]) -> None:
        self.function = function
        observation = getattr(function, "observation", None)
        if observation is not None:
            self.observation = observation

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> tuple[str, ...]:
        return tuple(instructions)

    def act(self, observations: Observations, state: tuple[str, ...]) -> tuple[NDArray[Any], tuple[str, ...]]:
        rows = [_plain(self.function(_row(observations, row), instruction)) for row, instruction in enumerate(state)]
        return np.stack(rows), state

    def mean_action(self, observations: Observations, state: tuple[str, ...]) -> NDArray[Any]:
        return self.act(observations, state)[0]


def _row(observations: Observations, row: int) -> Mapping[str, NDArray[Any]]:
    """One episode of a batch; what waits to be drawn goes on waiting."""
    if isinstance(observations, Reading):
        return Reading({key: functools.partial(lambda key: observations[key][row], key) for key in observations})
    return {key: value[row] for key, value in observations.items()}


def as_policy(thing: object) -> Policy:
    """``thing`` itself if it follows the protocol, else a wrapped function of (observation, instruction).

    Raises:
        PolicyError: neither; names the type and what is missing.
    """
    if isinstance(thing, type):
        raise PolicyError(f"{thing.__name__} is a class; pass an instance, or MODULE:{thing.__name__} to have one made")
    if isinstance(thing, Policy):
        return thing
    if callable(thing):
        return CallablePolicy(thing)
    missing = [name for name in ("start", "act") if not callable(getattr(thing, name, None))]
    raise PolicyError(
        f"{type(thing).__name__} is no policy: it lacks {' and '.join(missing)}; "
        "a policy has start(instructions, seed) and act(observations, state), or is a function of "
        "(observation, instruction)"
    )


def begin(policy: Policy, instructions: Sequence[str], seed: Sequence[int], tasks: Sequence[str]) -> State:
    """``policy.start``; the task ids are handed over only to a policy that needs them."""
    told = {"tasks": list(tasks)} if getattr(policy, "needs_task_identity", False) else {}
    return policy.start(list(instructions), seed=list(seed), **told)


def check_observation(policy: Policy, given: str, name: str) -> None:
    """That a policy is shown the kind of observation that it declares, or both kinds.

    Raises:
        PolicyError: it is shown another kind; ``name`` says whose.
    """
    wanted = getattr(policy, "observation", None)
    if wanted is not None and given not in (wanted, "both"):
        raise PolicyError(f"{name} wants observation={wanted!r}, not {given!r}; ask for {wanted!r} or 'both'")


def actions_of(
    policy: Policy, observations: Observations, state: State, shape: tuple[int | None, ...]
) -> tuple[NDArray[Any], State]:
    """``policy.act``, its answer checked for form: (actions, state) with real numbers of ``shape``; None fits any size.

    Raises:
        PolicyError: the answer has another form. NaN is left to the caller, who knows whose row it is.
    """
    result = policy.act(observations, state)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise PolicyError(f"it returned {type(result).__name__}; it must return (actions, state)")
    return numbers_of(result[0], shape), result[1]


def versions_of(policy: Policy) -> dict[str, str]:
    """What a policy declares of its code; nothing for a policy without ``versions``.

    Raises:
        PolicyError: it is no mapping of text.
    """
    declared = getattr(policy, "versions", {})
    if not isinstance(declared, Mapping) or not all(isinstance(one, str) for pair in declared.items() for one in pair):
        raise PolicyError(f"{type(policy).__name__}.versions is {declared!r}; it must map names to text")
    return dict(declared)


def notes_of(policy: Policy, state: State, row: int) -> dict[str, Any]:
    """What a policy notes of one episode as JSON data; nothing for a policy without ``notes``.

    Raises:
        PolicyError: it answers with something else; names it.
    """
    asked = getattr(policy, "notes", None)
    if asked is None:
        return {}
    answer = asked(state)
    if not isinstance(answer, Sequence) or len(answer) <= row or not isinstance(answer[row], Mapping):
        raise PolicyError(f"notes returned {type(answer).__name__}; it must return a dict for each episode")
    return {str(name): _noted(str(name), value) for name, value in answer[row].items()}


def _noted(name: str, value: object) -> object:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim > 1 or not np.isfinite(array).all():
        raise PolicyError(f"its note {name!r} is {value!r}; a note is a finite number or a list of such numbers")
    return array.tolist()


def numbers_of(answer: object, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """A policy's answer as an array of real numbers of ``shape``; None fits any size.

    Raises:
        PolicyError: it is none; names both shapes.
    """
    array = _plain(answer)
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in "fiu" or not fits:
        wanted = f"({', '.join('any' if size is None else str(size) for size in shape)})"
        raise PolicyError(
            f"it returned shape {array.shape} and type {array.dtype}; it must return real numbers of shape "
            f"{wanted}, a row for each episode"
        )
    return array


def _plain(answer: object) -> NDArray[Any]:
    parts = answer if isinstance(answer, list | tuple) else (answer,)
    if any(map(np.ma.is_masked, parts)):  # np.asarray would take what lies under the mask for data
        index = np.argwhere(np.ma.getmaskarray(np.ma.asarray(answer)))[0].tolist()
        raise PolicyError(f"it returned a masked array, masked at {index}; it must return a number there")
    return np.asarray(answer)


class blamed:
    """Whatever is raised inside becomes a PolicyError that names the policy's method and the place.

    A KeyboardInterrupt stays one where Ctrl-C may be its reason; workers ignore that signal, so there it is the
    policy's own.
    """

    # no generator: `contextlib` lets a StopIteration pass where a RuntimeError was raised from it

    def __init__(self, method: str, place: str) -> None:
        self._what = f"{method} failed in {place}"

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not _by_the_user(error):
            raise PolicyError(f"{self._what}: {_said(error)}") from error


def _by_the_user(error: BaseException) -> bool:
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _said(error: BaseException) -> str:
    """Type and text of an exception of foreign code, whose own ``__str__`` may fail."""
    try:
        text = str(error)
    except Exception as broken:
        text = f"(its text cannot be had: {type(broken).__name__})"
    return text if isinstance(error, PolicyError) else f"{type(error).__name__}: {text}"


class PolicySource:
    """Where a policy comes from, and how it is made again: in another process, for another stage.

    Args:
        policy: the name of a reference policy, such as ``oracle`` (``gym_grounding.reference`` has them all; hyphens
            count as underscores); an import string ``module:OBJECT`` (the current directory is searched first, as with
            ``python -m``); or the object itself. OBJECT is a policy, a class of policies, or a function of
            (observation, instruction).
        options: keyword arguments for a class. Nothing else takes options.

    A class is also given ``stage=``, ``seed=`` and ``registry=`` where its signature names them, unless the options do.
    """

    def __init__(self, policy: str | object, options: Mapping[str, Any] | None = None) -> None:
        self.policy = policy.replace("-", "_") if isinstance(policy, str) and ":" not in policy else policy
        self.options = dict(options or {})
        self._made: tuple[dict[str, Any], Policy] | None = None

    @property
    def description(self) -> str:
        """The reference policy's name or the import string, or the module and name of the object's type."""
        if isinstance(self.policy, str):
            return self.policy
        named = self.policy if hasattr(self.policy, "__qualname__") else type(self.policy)
        return f"{named.__module__}:{named.__qualname__}"

    @property
    def observation(self) -> str | None:
        """The observation kind that the policy, its class or its function declares, without making it; else None.

        Raises:
            UnknownName: no reference policy of that name.
            PolicyError: no such module or object.
        """
        declared = getattr(self._thing(), "observation", None)
        return declared if isinstance(declared, str) else None

    @property
    def file(self) -> Path | None:
        """The source file of the module that holds the policy, found without importing it; None if there is none."""
        if isinstance(self.policy, str):
            module, colon, _ = self.policy.partition(":")
            return _file_of(module if colon else f"{REFERENCE}.{module}")
        named = self.policy if hasattr(self.policy, "__qualname__") else type(self.policy)
        return _file_of(named.__module__)

    def get(self, stage: int | None = None, seed: int | None = None, registry: str | None = None) -> Policy:
        """The policy for a stage, training seed and registry file; the one made last is reused where it is the same.

        Raises:
            UnknownName: no reference policy of that name.
            PolicyError: no such module or object, options that do not fit, a constructor that raised, or no policy.
        """
        thing = self._thing()
        keywords = self._keywords(thing, {"stage": stage, "seed": seed, "registry": registry})
        if self._made is None or self._made[0] != keywords:
            self._made = None  # the old one's memory is free before the new one is made
            self._made = (keywords, self._make(thing, keywords))
        return self._made[1]

    def _thing(self) -> object:
        return _find(self.policy) if isinstance(self.policy, str) else self.policy

    def _keywords(self, thing: object, place: Mapping[str, int | str | None]) -> dict[str, Any]:
        if not isinstance(thing, type):
            if self.options:
                raise PolicyError(
                    f"{self.description} is not a class, so it takes no options; got {', '.join(sorted(self.options))}"
                )
            return {}
        try:
            signature = inspect.signature(thing)
        except (ValueError, TypeError):  # some classes written in C have none
            return self.options
        told = {name: value for name, value in place.items() if name in signature.parameters and value is not None}
        keywords = {**told, **self.options}
        try:
            signature.bind(**keywords)
        except TypeError as error:
            raise PolicyError(f"{self.description}{signature} cannot be made with {keywords}: {error}") from None
        return keywords

    def _make(self, thing: object, keywords: Mapping[str, Any]) -> Policy:
        if isinstance(thing, type):
            try:
                thing = thing(**keywords)
            except BaseException as error:
                if _by_the_user(error):
                    raise
                raise PolicyError(
                    f"{self.description} could not be made with {dict(keywords)}: {_said(error)}"
                ) from error
        try:
            return as_policy(thing)
        except PolicyError as error:
            raise PolicyError(f"{self.description}: {error}") from None


def load_policy(
    policy: str | object,
    options: Mapping[str, Any] | None = None,
    stage: int | None = None,
    seed: int | None = None,
    registry: str | None = None,
) -> Policy:
    """The policy of a name or import string, made for a stage, training seed and registry file; see ``PolicySource``.

    Raises:
        UnknownName: no reference policy of that name.
        PolicyError: it cannot be had; says why.
    """
    return PolicySource(policy, options).get(stage, seed, registry)


def options_of(pairs: Iterable[str], option: str = "--policy-option") -> dict[str, Any]:
    """KEY=VALUE pairs as keyword arguments; values are read as JSON where they are JSON, else as text.

    Args:
        option: where the pairs were written, for the message.

    Raises:
        InvalidOption: not such a pair.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise InvalidOption(f"{option} {pair!r}: write KEY=VALUE")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def _find(spec: str) -> object:
    name, colon, path = spec.partition(":")
    if not colon:
        found: object = importlib.import_module(REFERENCE).get(spec)
        return found
    if not name or not path:
        raise PolicyError(f"policy {spec!r} is no import string: write MODULE:OBJECT, such as my_policy:POLICY")
    thing: object = _module(spec, name)
    for attribute in path.split("."):
        if not hasattr(thing, attribute):
            names = [known for known in vars(thing) if not known.startswith("_")] if hasattr(thing, "__dict__") else []
            raise PolicyError(f"policy {spec!r}: {name} has no {path!r}.{_nearest(attribute, names)}")
        thing = getattr(thing, attribute)
    return thing


def _module(spec: str, name: str) -> ModuleType:
    _search_here()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            _no_module(spec, error.name)
        raise PolicyError(f"policy {spec!r}: importing {name} failed, it needs a missing module: {error}") from error
    except BaseException as error:
        if _by_the_user(error) or isinstance(error, PolicyError):
            raise
        raise PolicyError(f"policy {spec!r}: importing {name} raised {_said(error)}") from error


def _search_here() -> None:
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    importlib.invalidate_caches()  # a file may be younger than the process


def _file_of(module: str) -> Path | None:
    """The source file of a module. Packages are not imported for it, as ``importlib.util.find_spec`` would do."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is None:
        _search_here()
        top, *rest = module.split(".")
        try:
            spec = importlib.util.find_spec(top)
            for number in range(len(rest)):
                where = None if spec is None else spec.submodule_search_locations
                name = ".".join([top, *rest[: number + 1]])
                spec = None if where is None else importlib.machinery.PathFinder.find_spec(name, where)
        except (ImportError, ValueError, AttributeError):  # no such module; that is said when it is imported
            return None
        loaded = None if spec is None else spec.origin
    return Path(loaded) if loaded is not None and Path(loaded).is_file() else None


def _no_module(spec: str, missing: str) -> NoReturn:
    parent, _, last = missing.rpartition(".")
    where = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    near = _nearest(last, (module.name for module in pkgutil.iter_modules(where)))
    hint = " Write a module's name, not a file's." if last == "py" or "/" in spec else ""
    raise PolicyError(
        f"policy {spec!r}: no module {missing!r} in {os.getcwd()} or on the import path.{near}{hint}"
    ) from None


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
