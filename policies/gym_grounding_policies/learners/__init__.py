"""Continual imitation learners, one to a file; each file's ``LEARNER`` is its class."""
