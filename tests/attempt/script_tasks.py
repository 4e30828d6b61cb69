"""Tasks that a script of their own judges, in containers of their own Dockerfiles."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

DOCKERFILE = "FROM agentbench/python:3.11\nWORKDIR /app\nCOPY notes.txt /app/\n"
AS_ROOT = f"{DOCKERFILE}USER root\n"
TEST = """\
#!/bin/bash
if grep -qx hello /app/hello.txt && grep -q kept notes.txt; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
ALONE = """\
#!/bin/bash
[ "$(ls /app)" = hello.txt ] && grep -qx hello hello.txt && said=1 || said=0
echo $said > /logs/verifier/reward.txt
"""
SEVERAL = """\
#!/bin/bash
grep -qx "$WANTED" hello.txt && said=1 || said=0
printf '{"reward": %s, "style": 0.25, "length": -3}' $said > /logs/verifier/reward.json
status=failed; [ $said = 1 ] && status=passed
printf '{"results": {"tests": [{"name": "says hello", "status": "%s"}]}}' $status \
  > /logs/verifier/ctrf.json
exit 3
"""
FILES: Mapping[str, str] = {
    "instruction.md": "Write `hello` into hello.txt.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/notes.txt": "kept\n",
    "tests/test.sh": TEST,
    "solution/solve.sh": "#!/bin/bash\necho hello > hello.txt\n",
}
_TABLES: Mapping[str, Mapping[str, Any]] = {
    "repo": {"workdir": "/app"},
    "environment": {"lasting": True, "network": True, "dockerfile": "environment/Dockerfile"},
    "verifier": {"timeout_s": 120.0, "threshold": 0.999, "network": True, "user": "agent"},
    "solution": {},
    "agent": {"timeout_s": 60.0},
}
_SHARED = {"environment": "shared"}
SCRIPT_TASKS: Mapping[str, tuple[Mapping[str, str], Mapping[str, Mapping[str, Any]]]] = {
    "hello": ({}, {"verifier": _SHARED}),
    "several-rewards": (
        {
            "tests/test.sh": SEVERAL,
            "solution/solve.sh": '#!/bin/bash\necho "$SAID" > hello.txt\n',
        },
        {
            "environment": {"cpus": 0.5, "memory_mib": 512, "env": {"GREETING": "hello"}},
            "verifier": {**_SHARED, "env": {"WANTED": "hello"}},
            "solution": {"env": {"SAID": "hello"}},
        },
    ),
    # Its final test runs in a fresh container, which gets only what `takes` names.
    "separate": (
        {
            "tests/Dockerfile": "FROM agentbench/python:3.11\nWORKDIR /app\nCOPY . /tests/\n",
            "tests/test.sh": ALONE,
        },
        {"verifier": {"dockerfile": "tests/Dockerfile", "takes": ["hello.txt"]}},
    ),
    "unsolved": (
        {"solution/solve.sh": "#!/bin/bash\necho good bye > hello.txt\n"},
        {"verifier": _SHARED},
    ),
}
"""The files and the tables that each task has in addition."""


def write_script_task(
    folder: Path,
    name: str = "hello",
    files: Mapping[str, str] | None = None,
    *,
    user: str = "agent",
    **tables: Mapping[str, Any],
) -> Path:
    """Write one of SCRIPT_TASKS with more files and more in its tables, for this user."""
    own_files, own_tables = SCRIPT_TASKS[name]
    texts = {**FILES, **own_files}
    if user == "root":
        texts["environment/Dockerfile"] = AS_ROOT
    document: dict[str, Any] = {"schema_version": 1, "id": folder.name, "title": name}
    for table, values in _TABLES.items():
        document[table] = {**values, **own_tables.get(table, {})}
        if table in {"environment", "verifier"}:
            document[table]["user"] = user
        document[table] |= tables.get(table, {})
    texts |= {"task.toml": tomlkit.dumps(document), **(files or {})}
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755 if target.suffix == ".sh" else 0o644)
    return folder
