"""A real browser for the tests of pages: one window per visit, which notes whatever a page complains of or asks for."""

import contextlib
import os
import shutil

import pytest

NEEDED = "GYM_GROUNDING_NEED_BROWSER"
"""With this environment variable at 1 a missing browser is a failure, not a reason to skip."""
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
PATIENCE = 120_000
"""How long a loaded machine may take for one step [ms]."""
CONTRAST = """
name => {
  const part = (value) => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
  const light = (text) => {
    const [red, green, blue] = text.match(/[\\d.]+/g).map(Number);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const element = [...document.querySelectorAll(name)].find((one) => one.checkVisibility());
  let behind = element;
  while (/, 0\\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const pair = [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}
"""
"""How much the first visible element of a selector stands out from what is behind it (1 to 21)."""


@contextlib.contextmanager
def chromium():
    """An installed Chromium without a window; the tests that need it are skipped where there is none."""

    def missing(what):
        if os.environ.get(NEEDED) == "1":
            pytest.fail(f"{what}, and {NEEDED}=1 asks for a browser")
        pytest.skip(f"{what}; install it to run the browser tests")

    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        missing("the package playwright is not installed")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS), timeout=PATIENCE)
        except Error as error:
            missing(f"no Chromium can be started ({str(error).splitlines()[0]})")
        yield browser
        browser.close()


class Visit:
    """One page in a window of its own.

    Attributes:
        noise: lines of its console, errors and dialogs.
        requests: every address that it asked for.
    """

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.noise, self.requests = [], []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("dialog", lambda dialog: self.noise.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.go(path)

    def go(self, address):
        """Another address of a file."""
        self.page.goto(f"file://{address}")

    @property
    def hash(self):
        """The fragment of the address."""
        return self.page.evaluate("location.hash")
