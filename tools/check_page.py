"""The page's TypeScript: types (tsc, strict) and unit tests (node's own runner, bundled by esbuild).

    check_page.py           types only
    check_page.py --tests   unit tests as well; brings what they need by npm first

What npm brings for this lies in build/page; nothing of it comes into the tree.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import repository

ROOT = repository.ROOT


def tools(root: Path) -> Path:
    return root / "build" / "page"


def modules(root: Path) -> Path:
    return tools(root) / "node_modules"


def wanted_hash(root: Path) -> str:
    return hashlib.sha256((root / "web" / "package-lock.json").read_bytes()).hexdigest()


def are_there(root: Path) -> bool:
    stamp = tools(root) / "installed"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted_hash(root)


def bring_tools(root: Path) -> str:
    """Runs npm where it must; why it could not, or nothing."""
    if are_there(root):
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "needs npm"
    folder = tools(root)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(root / "web" / name, folder / name)
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        + ["--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        return f"needs packages that npm could not bring: {reason}"
    (folder / "installed").write_text(wanted_hash(root), encoding="utf-8")
    return ""


def type_findings(web: Path, modules: Path) -> list[str]:
    done = subprocess.run(
        [str(modules / ".bin" / "tsc"), "-p", str(web), "--pretty", "false"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def test_findings(root: Path) -> list[str]:
    """Each *.test.ts becomes one file of JavaScript, and node runs them."""
    folder = tools(root)
    tests = sorted((root / "web" / "tests" / "unit").glob("*.test.ts"))
    bundled = folder / "tests"
    built = subprocess.run(
        [str(folder / "node_modules" / ".bin" / "esbuild"), *map(str, tests), "--bundle"]
        + ["--platform=node", "--format=esm", "--out-extension:.js=.mjs", f"--outdir={bundled}", "--loader:.css=text"]
        + ["--log-level=warning"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        return built.stderr.splitlines()
    done = subprocess.run(
        ["node", "--test", *(str(bundled / test.name).replace(".ts", ".mjs") for test in tests)],
        env=os.environ | {"BERTH_WEB": str(root / "web")},
        capture_output=True,
        text=True,
        check=False,
    )
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def main(arguments: list[str]) -> int:
    if "--tests" in arguments and (reason := bring_tools(ROOT)):
        print(reason)
        return 1
    found = type_findings(ROOT / "web", modules(ROOT))
    if "--tests" in arguments:
        found += test_findings(ROOT)
    return repository.finish(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
