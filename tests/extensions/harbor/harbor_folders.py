"""Harbor's task folders as their makers write them, one for each age of the schema."""

from collections.abc import Mapping
from pathlib import Path

from tests.attempt.script_tasks import ALONE, SEVERAL, TEST

DOCKERFILE = "FROM agentbench/python:3.11\nWORKDIR /app\nCOPY notes.txt /app/\n"
ONE_ZERO = """\
version = "1.0"

[metadata]
author_name = "A. Nonymous"
difficulty = "easy"
category = "files"
tags = ["text", "first"]

[verifier]
timeout_sec = 120.0

[agent]
timeout_sec = 60.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory = "1G"
storage = "2G"
"""
ONE_TWO = """\
schema_version = "1.2"

[task]
name = "examples/several-rewards"
description = "Several rewards of one script"
keywords = ["rewards"]

[verifier]
timeout_sec = 120.0

[verifier.env]
WANTED = "${WANTED:-hello}"

[agent]
timeout_sec = 60.0

[environment]
cpus = 0.5
memory_mb = 512
storage_mb = 1024
allow_internet = true

[environment.env]
GREETING = "hello"

[solution.env]
SAID = "hello"
"""
ONE_FOUR = """\
schema_version = "1.4"
artifacts = ["/app/hello.txt"]

[task]
name = "examples/separate"

[verifier]
timeout_sec = 120.0
environment_mode = "separate"

[agent]
timeout_sec = 60.0

[environment]
network_mode = "public"
"""
SOLVE = "#!/bin/bash\necho hello > hello.txt\n"
INSTRUCTION = "<!-- harbor-canary GUID 0 -->\n\nWrite `hello` into hello.txt."
FILES: Mapping[str, str] = {
    "task.toml": ONE_ZERO,
    "instruction.md": INSTRUCTION,
    "README.md": "# hello\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/notes.txt": "kept\n",
    "tests/test.sh": TEST,
    "solution/solve.sh": SOLVE,
}
ALL_AGES: Mapping[str, Mapping[str, str | None]] = {
    "hello": {},
    "several-rewards": {
        "task.toml": ONE_TWO,
        "tests/test.sh": SEVERAL,
        "solution/solve.sh": '#!/bin/bash\necho "$SAID" > hello.txt\n',
    },
    "separate": {
        "task.toml": ONE_FOUR,
        "tests/Dockerfile": "FROM agentbench/python:3.11\nWORKDIR /app\nCOPY . /tests/\n",
        "tests/test.sh": ALONE,
    },
    "unsolved": {"solution/solve.sh": "#!/bin/bash\necho good bye > hello.txt\n"},
}
"""What each has other than FILES."""


def harbor_folder(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """Write a folder of Harbor's; a file that is changed to None is left out."""
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    return folder
