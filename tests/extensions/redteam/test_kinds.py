import ast
import subprocess

import pytest

from agentbench.extensions.redteam import payloads
from agentbench.extensions.redteam.kinds import KINDS, script_of

PAYLOADS = [name for name in vars(payloads) if name.isupper()]


def test_names_are_unique_and_plain():
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalpha() and name == name.lower() for name in names)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_script_is_one_for_sh(kind):
    script = script_of(kind, ("it's a file.py",), ("tests/test_it.py",))
    checked = subprocess.run(["sh", "-n", "-c", script], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_is_python(name):
    assert ast.parse(getattr(payloads, name)).body


def test_files_of_the_program_are_found_if_nothing_names_them(tmp_path):
    for name in ("shop.py", "lib/a b.py", "tests/test_shop.py", "conftest.py", "test_x.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\n")
    (kind,) = [each for each in KINDS if each.name == "exit-at-import"]
    subprocess.run(["sh", "-ec", script_of(kind, (), ())], cwd=tmp_path, check=True)
    changed = {p.name for p in tmp_path.rglob("*.py") if "_exit(0)" in p.read_text()}
    assert changed == {"shop.py", "a b.py"}
