"""Memory that compiling a scene leaves behind."""

from __future__ import annotations

import ctypes


def return_freed_memory() -> None:
    """Let the C library hand freed memory back to the system; without effect where it has no such call.

    Compiling a scene frees about as much as the compiled scene takes (200 MB), and glibc would keep it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
