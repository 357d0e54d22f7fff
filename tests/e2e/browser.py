"""The Chromium that the tests of pages drive, if there is one that starts."""

import functools
import os
import shutil
import subprocess

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = os.environ.get("BERTH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@functools.cache
def why_no_browser():
    """Why no page can be looked at here; nothing: one can."""
    if CHROMIUM is None:
        return "needs chromium"
    try:
        asked = subprocess.run([CHROMIUM, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"needs chromium, and {CHROMIUM} does not start: {error}"
    if asked.returncode == 0 and "Chrom" in asked.stdout:
        return None
    # Ubuntu's package is a script that asks for a snap.
    words = (asked.stdout + asked.stderr).strip().splitlines()
    return f"needs chromium, and {CHROMIUM} is none: {words[0] if words else asked.returncode}"
