"""Demonstrations in LIBERO's file layout: made, checked, read, shown and exported. See ``layout`` for the files.

Nothing here imports h5py before a file is opened or written.
"""

STARTS = ("random", "stored")
"""Where demonstrations start: from placements of LIBERO's own samplers, or from the stored initial states."""
NOISES = ("none", "mild", "full")
"""Names of noise on executed actions."""
