"""LIBERO's control step, observations and episode starts without LIBERO's Python, equal to them to the last bit.

``layout`` reads off LIBERO's environment where things are; ``stepper`` advances a scene with ``compiled`` (numba) or
``plain`` (Python); ``model`` makes and keeps the small physics models; ``start`` begins episodes;
``goals`` judges all goals in one call, with ``goals_compiled`` or ``goals_plain``.

Robosuite needs numba, so ``plain`` is for numba that is switched off (NUMBA_DISABLE_JIT) and for a BLAS that rounds
otherwise than numpy's. Switched off, robosuite's own functions run in numpy as well: LIBERO's numbers then differ in
the last bits from those of other processes, ours are still equal to them, and a run's header says so.

Surprises, mujoco 3.3.2:
    LIBERO runs two forward passes before each physics step. Their constraint solves write the solver's warm start, so
    they cannot be left out: without them runs part in the last bit, in LIBERO-Object at the first physics step. All
    else that they compute is computed again, so one solve each is enough.
    The first control step after a reset uses the arm's pose, Jacobian and inertia from before the initial state.
    The goal of a rotation passes through float32.

Surprises, mujoco 2.3.7:
    Kinematics normalises the quaternions of the positions in place, and each of LIBERO's three passes can change their
    last bit anew; so all three are run where kinematics does this.
"""
