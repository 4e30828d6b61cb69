"""Tasks of our own that a script judges, to be exported to Harbor."""

from pathlib import Path

TABLE = """\
schema_version = 1
title = "The greeting lacks a name"

[repo]
path = "repo"

[environment]
image = "agentbench/python:3.11"
env = {{ WHOM = "say $HOME", PLAIN = "x" }}
{environment}
[setup]
commands = ["echo done > prepared.txt"]

[verifier]
command = "python /tests/judge.py"
threshold = 0.5
{verifier}
"""
JUDGE = """\
import os
import pathlib
import subprocess

said = subprocess.run(["python", "greet.py", "Ada"], capture_output=True, text=True).stdout
prepared = pathlib.Path("/workspace/prepared.txt").read_text() == "done\\n"
known = os.environ["WHOM"] == "say $HOME" and os.getuid() == 1000
good = said == "Hello, Ada\\n" and prepared and known
pathlib.Path("/logs/verifier/reward.txt").write_text("0.75" if good else "0.25")
"""
PROGRAM = 'import sys\nprint("Hello")\n'
PATCH = """\
diff --git a/greet.py b/greet.py
--- a/greet.py
+++ b/greet.py
@@ -1,2 +1,2 @@
 import sys
-print("Hello")
+print(f"Hello, {sys.argv[1]}")
"""


def greeting(folder: Path, *, verifier: str = "", environment: str = "") -> Path:
    """Write a task with a repository and a judge in Python; arguments are lines of its tables."""
    files = {
        "task.toml": TABLE.format(verifier=verifier, environment=environment),
        "instruction.md": "Greet the person that the first argument names.\n",
        "repo/greet.py": PROGRAM,
        "tests/judge.py": JUDGE,
        "solution.patch": PATCH,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
