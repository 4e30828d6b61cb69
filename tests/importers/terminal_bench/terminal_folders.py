"""A task folder of Terminal-Bench's, as its template makes them."""

from collections.abc import Mapping
from pathlib import Path

TASK = """\
instruction: |-
  Write `hello` into hello.txt.
author_name: A. Nonymous
difficulty: easy
category: files
tags: [text]
parser_name: pytest
max_agent_timeout_sec: 60.0
max_test_timeout_sec: 120.0
"""
COMPOSE = """\
services:
  client:
    build:
      dockerfile: Dockerfile
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [ "sh", "-c", "sleep infinity" ]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
      - GREETING=hello
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
"""
FILES: Mapping[str, str] = {
    "task.yaml": TASK,
    "docker-compose.yaml": COMPOSE,
    "Dockerfile": "FROM agentbench/python:3.11\nWORKDIR /app\nCOPY greet.sh /app/\n",
    "greet.sh": '#!/bin/sh\necho "$GREETING"\n',
    "run-tests.sh": "#!/bin/bash\npytest $TEST_DIR/test_outputs.py -rA\n",
    "solution.sh": "#!/bin/bash\n./greet.sh > hello.txt\n",
    "tests/test_outputs.py": (
        "from pathlib import Path\n\n\ndef test_hello():\n"
        '    assert Path("/app/hello.txt").read_text() == "hello\\n"\n'
    ),
}


def terminal_folder(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """Write a folder; a file that is changed to None is left out."""
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    return folder
