"""The first hour: from a clone to a judged task of one's own, in a fresh container.

Counts the commands that a newcomer types and the files that they write, and takes the minutes of
each command. The container has nothing but the image's packages. It may mount,
so that bubblewrap works in it as on a machine; no Docker engine answers there.
Run: python benchmarks/first_hour.py IMAGE... [--checkout COMMIT] [--without-init]
Images are those of a bare Debian, such as debian:12 and debian:13. With --without-init, the task's
folder is written by hand, as before `agentbench tasks init`.
"""

import argparse
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_FORWARDED = ("PIP_", "SSL_CERT", "REQUESTS_CA", "CURL_CA", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_AS_A_MACHINE = ["--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN"]
for _part in ("seccomp", "apparmor", "systempaths"):
    _AS_A_MACHINE += ["--security-opt", f"{_part}=unconfined"]
_STEP_SECONDS = 1800
_TASK = "my-tasks/greeting"
_FILES = {
    "repo/greeting.py": 'def greet(name):\n    return f"Helo, {name}!"\n',
    "repo/tests/test_greeting.py": """\
from greeting import greet


def test_the_name_is_there():
    assert "Ada" in greet("Ada")
""",
    "instruction.md": "greet('Ada') should say 'Hello, Ada!'; it says 'Helo, Ada!'.\n",
    "tests.patch": """\
--- /dev/null
+++ b/tests/test_hidden.py
@@ -0,0 +1,5 @@
+from greeting import greet
+
+
+def test_hello():
+    assert greet("Ada") == "Hello, Ada!"
""",
    "solution.patch": """\
--- a/greeting.py
+++ b/greeting.py
@@ -1,2 +1,2 @@
 def greet(name):
-    return f"Helo, {name}!"
+    return f"Hello, {name}!"
""",
}
_TITLE = 'title = "The greeting lacks a letter"'
_WHOLE = f"""\
schema_version = 1
{_TITLE}

[repo]
path = "repo"

[tests]
command = "python -m pytest"
paths = ["tests"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that a newcomer types, or files that they write."""

    text: str
    files: tuple[str, ...] = ()


def steps(*, has_init: bool) -> list[Step]:
    """What a newcomer does, in order."""
    write = " && ".join(
        f"mkdir -p $(dirname {_TASK}/{name}) && cat > {_TASK}/{name} <<'EOF'\n{text}EOF\ntrue"
        for name, text in _FILES.items()
    )
    table = f"cat > {_TASK}/task.toml <<'EOF'\n{_WHOLE}EOF\ntrue"
    if has_init:
        table = f"sed -i 's/^title = .*/{_TITLE}/' {_TASK}/task.toml"
    files = (*_FILES, "task.toml")
    agent = '--agent command --agent-command "sed -i s/Helo/Hello/ greeting.py"'
    return [
        Step(text="apt-get update"),
        Step(text="apt-get install -y git make python3 python3-venv"),
        Step(text="git clone /source agentbench"),
        Step(text="cd agentbench"),
        Step(text="make demo"),
        Step(text=". .venv/bin/activate"),
        Step(text=f"agentbench tasks init {_TASK}" if has_init else f"mkdir -p {_TASK}/repo"),
        Step(text=f"{write} && {table}", files=files),
        Step(text=f"agentbench validate {_TASK} --write-ids"),
        Step(text="agentbench run my-tasks --agent noop --run-id nothing"),
        Step(text=f"agentbench run my-tasks {agent} --run-id mine"),
        Step(text="pip install -e '.[report]'"),
        Step(text="agentbench compare nothing mine"),
    ]  # fmt: skip


def main() -> None:
    """Take the steps in each image, and print their minutes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", nargs="+")
    parser.add_argument("--checkout", default="HEAD", help="the commit that is cloned")
    parser.add_argument("--without-init", action="store_true", help="write the folder by hand")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-first-hour-") as scratch:
        source = _source(Path(scratch), options.checkout)
        for image in options.images:
            _show(image, source, steps(has_init=not options.without_init))


def _source(scratch: Path, commit: str) -> Path:
    """A repository whose only branch ends at the commit."""
    source = scratch / "source"
    subprocess.run(["git", "clone", "-q", str(_ROOT), str(source)], check=True)
    subprocess.run(["git", "-C", str(source), "checkout", "-q", "-B", "main", commit], check=True)
    return source


def _show(image: str, source: Path, todo: list[Step]) -> None:
    settings = {
        name: value for name, value in os.environ.items() if name.upper().startswith(_FORWARDED)
    }
    argv = ["docker", "run", "-d", "-v", f"{source}:/source:ro", *_AS_A_MACHINE]
    if Path("/etc/ssl/certs").is_dir():
        argv += ["-v", "/etc/ssl/certs:/etc/ssl/certs:ro"]
    for name, value in settings.items():
        argv += ["-e", f"{name}={value}"]
    container = _output([*argv, image, "sleep", "infinity"])
    try:
        before = "git config --global --add safe.directory '*' 2>/dev/null"
        seconds, done = 0.0, ["cd /root"]
        for step in todo:
            script = "\n".join((before, *done, f"( :\n{step.text}\n)"))
            started = time.monotonic()
            _run(container, script, step.text)
            taken = time.monotonic() - started
            seconds += taken
            if step.text.startswith(("cd ", ". ")):
                done.append(step.text)  # it changes the shell of what follows
            if not step.files:
                print(f"{taken:7.1f} s  {step.text}", flush=True)
        files = sum(len(step.files) for step in todo)
        commands = sum(not step.files for step in todo)
        print(
            f"{image}: {commands} commands, {files} files, {seconds / 60:.1f} minutes\n", flush=True
        )
    finally:
        subprocess.run(["docker", "rm", "-f", "-v", container], check=True, capture_output=True)


def _run(container: str, script: str, name: str) -> None:
    done = subprocess.run(
        ["docker", "exec", "-i", container, "bash", "-s"],
        input=script, capture_output=True, text=True, timeout=_STEP_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
