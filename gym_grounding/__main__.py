"""``python -m gym_grounding`` is ``gym-grounding``."""

from __future__ import annotations

from gym_grounding.cli import main

if __name__ == "__main__":
    main(prog_name="gym-grounding")
