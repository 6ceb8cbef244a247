"""What the pages of the gallery share: the document around them, and escaped text."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources


def text(value: object) -> str:
    """Escaped text, also for attributes in double quotes."""
    return html.escape(str(value), quote=True)


def attributes(**values: object) -> str:
    """`` name="value"`` for every value that is not None; underscores become hyphens, a trailing one is dropped."""
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"' for name, value in values.items() if value is not None
    )


def code(value: str) -> str:
    """A name or goal in fixed width, escaped, that may break after an underscore."""
    return f"<code>{text(value).replace('_', '_<wbr>')}</code>"


def marked(sentence: str, part: str | None) -> str:
    """A sentence, escaped, with the first occurrence of ``part`` as whole words marked."""
    found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", sentence) if part else None
    if found is None:
        return text(sentence)
    begin, end = found.span()
    return f"{text(sentence[:begin])}<mark>{text(sentence[begin:end])}</mark>{text(sentence[end:])}"


def picture(data: bytes) -> str:
    """A JPEG as the address of an image."""
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode('ascii')}"


def document(title: str, body: Iterable[str], script: bool) -> str:
    """A whole document. Its content policy lets nothing in from outside, and runs no script but the page's own.

    Args:
        title: plain text.
        body: pieces of HTML, each safe as it is.
        script: whether the page filters its rows.
    """
    program = resource("script.js") if script else ""
    allowed = (
        f"'sha256-{base64.b64encode(hashlib.sha256(program.encode()).digest()).decode('ascii')}'"
        if program
        else "'none'"
    )
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; "
        "form-action 'none'"
    )
    inner = "\n".join(body)
    tail = f"\n<script>{program}</script>" if program else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>\n{resource('style.css')}</style>\n</head>\n<body>\n"
        f"{inner}{tail}\n</body>\n</html>\n"
    )


@cache
def resource(name: str) -> str:
    """Contents of a file beside this module."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
