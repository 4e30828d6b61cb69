"""The tiny task of a rehearsal: a function of one line that is wrong."""

from pathlib import Path

_FILES = {
    "task.toml": """\
schema_version = 1
id = "rehearsal"
title = "add() subtracts"

[repo]
path = "repo"

[tests]
command = "python -m pytest"
timeout_s = 60
fail_to_pass = ["test_calc.py::test_two_numbers_are_added"]

[agent]
timeout_s = 300
max_steps = 20
""",
    "instruction.md": "`add` in calc.py subtracts. It should add.\n",
    "repo/calc.py": "def add(a, b):\n    return a - b\n",
    "tests.patch": """\
diff --git a/test_calc.py b/test_calc.py
new file mode 100644
--- /dev/null
+++ b/test_calc.py
@@ -0,0 +1,5 @@
+from calc import add
+
+
+def test_two_numbers_are_added():
+    assert add(2, 3) == 5
""",
    "solution.patch": """\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
""",
}


def write_project(folder: Path) -> Path:
    """Write the task into a folder, and return that.

    Raises:
        OSError: it cannot be written.
    """
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
