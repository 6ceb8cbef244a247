"""From demonstration files, observations and sentences to what a network reads."""
