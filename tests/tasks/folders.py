"""Task folders, whole and right unless a test says otherwise."""

from collections.abc import Mapping
from pathlib import Path

TOML = """\
schema_version = 1
title = "Last item is lost"

[repo]
path = "repo"
"""
CODE = "def last(items):\n    return items[-2]\n"
FIX = """\
diff --git a/code.py b/code.py
--- a/code.py
+++ b/code.py
@@ -1,2 +1,2 @@
 def last(items):
-    return items[-2]
+    return items[-1]
"""
TESTS = """\
diff --git a/test_code.py b/test_code.py
new file mode 100644
--- /dev/null
+++ b/test_code.py
@@ -0,0 +1,4 @@
+import code
+
+def test_last():
+    assert code.last([1, 2]) == 2
"""


def make_task(
    folder: Path,
    *,
    toml: str = TOML,
    instruction: str | None = "The last item is lost.\n",
    files: Mapping[str, str] = {"code.py": CODE},
    patches: Mapping[str, str] = {"solution.patch": FIX, "tests.patch": TESTS},
) -> Path:
    """Write a task's folder."""
    folder.mkdir(parents=True)
    contents = {f"repo/{name}": text for name, text in files.items()} | dict(patches)
    contents["task.toml"] = toml
    if instruction is not None:
        contents["instruction.md"] = instruction
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder
