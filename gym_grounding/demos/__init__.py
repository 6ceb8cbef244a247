"""Demonstrations in LIBERO's file layout: made, checked, read, shown and exported. See ``layout`` for the files.

Nothing here imports h5py before a file is opened or written.
"""
