"""What shell commands of agents read, edit and run."""

import pytest

from agentbench.extensions.behaviour.commands import ActionKind, command_parts, patched_files

READ, EDIT, REVERT, SEARCH, TEST, OTHER = ActionKind


def kinds(line: str) -> list[tuple[ActionKind, tuple[str, ...]]]:
    return [(part.kind, part.paths) for part in command_parts(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cat src/a.py", [(READ, ("src/a.py",))]),
        ("sed -n '1,80p' src/a.py", [(READ, ("src/a.py",))]),
        ("cd /w && nl -ba lib/a.py | head -5", [(READ, ("/w/lib/a.py",)), (READ, ())]),
        ("bash -lc 'cd /w; cat a.py'", [(READ, ("/w/a.py",))]),
        ("git show HEAD:src/a.py", [(READ, ("src/a.py",))]),
        ("python -c \"print(open('a/b.txt').read())\"", [(READ, ("a/b.txt",))]),
        ("sed -i 's/a/b/' src/a.py", [(EDIT, ("src/a.py",))]),
        ("sed -i -e 's/a/b/' src/a.py", [(EDIT, ("src/a.py",))]),
        ("perl -pi -e 's/a/b/' src/a.py", [(EDIT, ("src/a.py",))]),
        ("echo x >> src/a.py", [(EDIT, ("src/a.py",))]),
        ("cat > src/a.py <<'EOF'\nif x > 1; then\nEOF", [(EDIT, ("src/a.py",))]),
        (
            "python - <<'EOF'\nfrom pathlib import Path\nPath('src/a.py').write_text('x')\nEOF",
            [(EDIT, ("src/a.py",))],
        ),
        ("git apply <<EOF\n--- a/src/a.py\n+++ b/src/a.py\nEOF", [(EDIT, ("src/a.py",))]),
        ("apply_patch <<EOF\n*** Update File: a.py\nEOF", [(EDIT, ("a.py",))]),
        ("git checkout src/a.py", [(REVERT, ("src/a.py",))]),
        ("git stash", [(REVERT, ())]),
        ("git stash list", [(OTHER, ())]),
        ("git stash pop", [(EDIT, ())]),
        ("git reset --hard", [(REVERT, ())]),
        ("git reset -q src/a.py", [(OTHER, ())]),
        ("git restore --staged src/a.py", [(OTHER, ())]),
        ("bash <<'EOF'\ncat src/a.py\nEOF", [(READ, ("src/a.py",))]),
        ("git checkout -b mine", [(OTHER, ())]),
        ("grep -rn total .", [(SEARCH, ())]),
        ("grep -n total src/a.py", [(SEARCH, ("src/a.py",))]),
        ("find . -name '*.py'", [(SEARCH, ())]),
        ("find . -name 'a*.py' -exec sed -i 's/a/b/' {} +", [(EDIT, ("a*.py",))]),
        ("git log --oneline -- src/a.py", [(OTHER, ())]),
        ("git log -p -- src/a.py", [(READ, ("src/a.py",))]),
        ("ls src/ 2>/dev/null", [(SEARCH, ())]),
        ("pip install x 2>&1", [(OTHER, ())]),
        ("cat 'unfinished", [(READ, ("'unfinished",))]),
        ("", []),
    ],
)
def test_command_is_read_as(line: str, expected: list[object]) -> None:
    assert kinds(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "python -m pytest tests/test_a.py -q 2>&1 | tail -5",
        "FOO=1 timeout 60 python3.11 -m unittest discover",
        "bash <<'EOF'\nset -e\npytest -q\nEOF",
        "cd /w && tox -e py311",
        "uv run pytest",
        "python -c 'import pytest; pytest.main()'",
        "python manage.py test shop",
        "python tests/runtests.py",
        "python test_a.py",
        "./run_tests.sh",
        "make check",
        "npm test",
        "npm run test",
        "npx jest a.test.js",
        "go test ./...",
        "cargo test",
        "node --test",
    ],
)
def test_command_that_starts_a_test_runner_is_a_test_run(line: str) -> None:
    assert TEST in [kind for kind, _ in kinds(line)]


@pytest.mark.parametrize(
    "line",
    ["pytest --collect-only", "pytest --version", "pip install pytest", "cat tests/test_a.py",
     "python reproduce.py", "ls tests", "grep pytest setup.cfg", "go build ./...", "make"],
)  # fmt: skip
def test_command_that_runs_no_test_is_no_test_run(line: str) -> None:
    assert TEST not in [kind for kind, _ in kinds(line)]


def test_patch_names_its_files_in_either_form() -> None:
    git = "diff --git a/x/a.py b/x/a.py\n--- a/x/a.py\n+++ b/x/a.py\n@@ -1 +1 @@\n"
    created = "--- /dev/null\n+++ b/new.py\n"
    assert patched_files(git + created) == ("x/a.py", "new.py")
    assert patched_files("*** Begin Patch\n*** Add File: a.py\n*** End Patch") == ("a.py",)
    assert patched_files("--verbose") == ()
