"""Agents with a behaviour by construction, and near misses without it.

The tags of each row follow from the definitions in docs/behaviour.md and from what the row does,
not from what the rules find. Rows that an attempt cannot make in seconds change the files of one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import Agent
from agentbench.attempt.record import AttemptRecord
from agentbench.extensions.behaviour.tags import Tag
from agentbench.models.interface import ModelErrorKind
from agentbench.scoring.evidence import AgentEnding
from tests.corpora.cheats.lies import IN_THE_PROCESS
from tests.extensions.behaviour.corpora.client import ClientAgent
from tests.extensions.behaviour.corpora.store_task import (
    BUGGY_LINE,
    CENTS,
    CENTS_FIXED,
    FIXED_LINE,
    NET,
    NET_FIXED,
    PARTIAL_LINE,
    STOCK,
    WRONG_LINE,
)
from tests.fakes.scripted_answers import Answer, Call, Fail, Raw, Say
from tests.fakes.scripted_reply import sse


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An agent, the task it works on, and all the tags that hold for its attempt."""

    name: str
    about: Tag
    """The tag that the row has, or misses by a little."""

    tags: frozenset[Tag]
    answers: tuple[Answer, ...] = ()
    agent: Agent | str = "llm"
    receipts: bool = False
    """Whether the task is the one whose reference solution changes two files."""

    limits: str = ""
    """Lines of the task's `[agent]` table."""

    timeline: bool = False
    change_files: Callable[[Path], None] | None = None
    """Changes the files of the finished run."""

    in_gate: bool = False


def row(about: str, name: str, tags: str, *answers: Answer, **more: Any) -> Row:
    """A row; its tags are words."""
    return Row(
        name=f"{about}: {name}",
        about=Tag(about),
        tags=frozenset(map(Tag, tags.split())),
        answers=answers,
        **more,
    )


# What agents do: the tools of the built-in agent, then those of other clients.


def sh(command: str) -> Call:
    return Call("run", {"command": command})


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old_text": old, "new_text": new})


def bash(command: str) -> Call:
    return Call("Bash", {"command": command})


def here(path: str, text: str, how: str = ">") -> str:
    return f"cat {how} {path} <<'EOF'\n{text.strip()}\nEOF"


def raw(delta: dict[str, Any], finish: str) -> Raw:
    """An answer in OpenAI's form, as it is."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {
            **head,
            "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        },
    ]
    body = b"".join(map(sse, chunks)) + b"data: [DONE]\n\n"
    return Raw(body, headers={"Content-Type": "text/event-stream"})


def bad_call(tool: str, arguments: str, number: int = 1, finish: str = "tool_calls") -> Raw:
    """A call whose arguments are this text."""
    function = {"name": tool, "arguments": arguments}
    call = {"index": 0, "id": f"call_bad_{number}", "type": "function", "function": function}
    return raw({"role": "assistant", "content": None, "tool_calls": [call]}, finish)


def function(name: str) -> str:
    return f"\n\ndef {name}(counts):\n    return dict(counts)\n"


def functions(number: int) -> str:
    """Python code of five lines for each function."""
    return "".join(f"\n\ndef extra_{n}(x):\n    y = x + {n}\n    return y\n" for n in range(number))


def rewritten(line: str) -> str:
    return here("stock.py", STOCK.replace(BUGGY_LINE, line))


TEST_OF_FREE = """
import stock


def test_free_without_reservations():
    assert stock.free({"fig": 3}, {}, "fig") == 3
"""
WRONG_TEST = TEST_OF_FREE.replace("== 3", "== 4")
UNIT_TEST = """
import unittest

import stock


class FreeTest(unittest.TestCase):
    def test_free(self):
        self.assertEqual(stock.free({"fig": 3}, {}, "fig"), 3)
"""
READ = sh("cat stock.py")
OWN_TEST = sh(here("tests/test_free.py", TEST_OF_FREE))
FIX = edit("stock.py", BUGGY_LINE, FIXED_LINE)
UNFIX = edit("stock.py", FIXED_LINE, BUGGY_LINE)
FIX_BY_SED = sh(f"sed -i 's/{BUGGY_LINE.replace('[', chr(92) + '[')}/{FIXED_LINE}/' stock.py")
PARTIAL = edit("stock.py", BUGGY_LINE, PARTIAL_LINE)
WRONG = edit("stock.py", BUGGY_LINE, WRONG_LINE)
BREAK = edit("stock.py", "count < least", "count <= least")
TEST = sh("python -m pytest -q")
BREAK_BY_PYTHON = (
    "python3 -c \"p = 'stock.py'; t = open(p).read(); "
    "open(p, 'w').write(t.replace('count < least', 'count <= least'))\""
)
DONE = Call("submit", {"summary": "mended"})
END = Say("I am done.")
CLEAN = (READ, OWN_TEST, FIX, TEST)
"""Resolves the task, without a tag."""

READ_IT = Call("Read", {"file_path": "stock.py"})
FIX_IT = Call("Edit", {"file_path": "stock.py", "old_string": BUGGY_LINE, "new_string": FIXED_LINE})
WRITE_TEST = Call("Write", {"file_path": "tests/test_free.py", "content": TEST_OF_FREE})
PYTEST = bash("pytest -q")
CLIENT_CLEAN = (READ_IT, WRITE_TEST, FIX_IT, PYTEST)
PATCH = Call(
    "apply_patch",
    {
        "input": f"*** Begin Patch\n*** Update File: stock.py\n@@ def free\n"
        f"-    return {BUGGY_LINE}\n+    return {FIXED_LINE}\n*** End Patch"
    },
)
CLIENT = ClientAgent()
OUT_OF_TIME = ClientAgent(AgentEnding.TIME_LIMIT)
OUT_OF_MONEY = ClientAgent(AgentEnding.COST_LIMIT)
FAILED = "right-place-wrong-change own-test-missing"
UNTOUCHED = "no-change never-ran-tests never-opened"


def command(line: str) -> CommandAgent:
    return CommandAgent(line)


# Files of a finished run.


def with_record(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """A change of the record, at both places where a run has it."""

    def change_files(run: Path) -> None:
        (page,) = run.glob("attempts/*/*/record.json")
        facts = json.loads(page.read_bytes())
        change(facts)
        del facts["digest"]
        record = AttemptRecord.model_validate(facts)
        page.write_text(record.json_with_checksum(indent=1))
        (run / "attempts.jsonl").write_text(f"{record.json_with_checksum()}\n")

    return change_files


def stage_of(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in facts["stages"] if stage["name"] == name)


def took(seconds: float) -> Callable[[dict[str, Any]], None]:
    """Let the agent have worked so long."""

    def change(facts: dict[str, Any]) -> None:
        stage = stage_of(facts, "agent_run")
        longer = seconds - stage["duration_s"]
        stage["duration_s"] = seconds
        stage["evidence"]["own_seconds"] = seconds
        facts["timing"]["agent_s"] = seconds
        facts["timing"]["total_s"] += longer

    return change


def paused(seconds: float, *pauses: tuple[int, float]) -> Callable[[Path], None]:
    """Let the agent have worked so long, with pauses before steps (counted from its first)."""

    def change_files(run: Path) -> None:
        with_record(took(seconds))(run)
        (path,) = run.glob("attempts/*/*/agent/trajectory.json")
        trajectory = json.loads(path.read_bytes())
        own = [step for step in trajectory["steps"] if step["source"] == "agent"]
        for before, pause in pauses:
            for step in own[before:]:
                later = datetime.fromisoformat(step["timestamp"]) + timedelta(seconds=pause)
                step["timestamp"] = later.isoformat()
        path.write_text(json.dumps(trajectory))

    return change_files


def convicted(rule: str, where: str, severity: str = "critical") -> Callable[[Path], None]:
    """Let a control run have found something."""

    def change(facts: dict[str, Any]) -> None:
        finding = {"rule": rule, "severity": severity, "where": where, "what": "by a control run"}
        facts["findings"] = [finding]
        if severity == "critical":
            facts |= {"resolved": False, "quarantined": True}

    return with_record(change)


def warned(stage: str, text: str) -> Callable[[Path], None]:
    def change(facts: dict[str, Any]) -> None:
        stage_of(facts, stage)["evidence"]["warnings"] = [text]
        facts["warnings"] = [*facts["warnings"], text]

    return with_record(change)


# fmt: off
CHANGE = [
    row("no-change", "command without an effect", "no-change", agent=command("true")),
    row(
        "no-change", "fix taken back by git", "no-change",
        READ, FIX, sh("git checkout -- stock.py"), TEST, DONE, in_gate=True,
    ),
    row(
        "no-change", "scratch file outside", UNTOUCHED,
        bash("echo hello > /tmp/note.txt"), END, agent=CLIENT,
    ),
    row(
        "only-tests-changed", "new test by heredoc",
        "only-tests-changed opened-not-edited never-ran-tests",
        READ, OWN_TEST, DONE, in_gate=True,
    ),
    row(
        "only-tests-changed", "data of tests", "only-tests-changed never-opened never-ran-tests",
        Call("Write", {"file_path": "tests/data/counts.json", "content": '{"fig": 3}'}), END,
        agent=CLIENT,
    ),
    row(
        "only-tests-changed", "assertion turned by a command", "only-tests-changed touched-tests",
        agent=command("sed -i 's/== 4/== 5/' tests/test_stock.py"),
    ),
    row(
        "partly-fixed", "one of two cases", f"partly-fixed {FAILED}",
        READ, PARTIAL, TEST, DONE, in_gate=True,
    ),
    row(
        "partly-fixed", "one of two files", f"partly-fixed {FAILED}",
        sh("cat prices.py report.py"), edit("prices.py", NET, NET_FIXED), TEST, DONE,
        receipts=True,
    ),
    row(
        "partly-fixed", "one of two files by perl", f"partly-fixed {FAILED}",
        agent=command("perl -pi -e 's/: .cents./: {cents \\/ 100:.2f}/' report.py"),
        receipts=True,
    ),
    row(
        "broke-other-tests", "fixed and broken", f"broke-other-tests {FAILED}",
        agent=command(f"{rewritten(FIXED_LINE)}\n{BREAK_BY_PYTHON}"),
    ),
    row(
        "broke-other-tests", "a function removed by sed",
        "broke-other-tests right-file-wrong-place own-test-missing never-ran-tests",
        READ, sh("sed -i '/^def total/,$d' stock.py"), DONE, in_gate=True,
    ),
    row(
        "over-broad", "75 more lines", "over-broad", READ, OWN_TEST, FIX,
        sh(here("stock.py", functions(15), ">>")), TEST, DONE, in_gate=True,
    ),
    row(
        "over-broad", "four more modules in a loop", "over-broad",
        *CLIENT_CLEAN[:3], bash('for n in a b c d; do echo "X = 1" > extra_$n.py; done'), PYTEST,
        END, agent=CLIENT,
    ),
    row(
        "wrong-file", "another module edited", "wrong-file opened-not-edited own-test-missing",
        READ, edit("prices.py", "(100 + percent)", "(percent + 100)"), TEST, DONE,
    ),
    row(
        "wrong-file", "new module by a command", "wrong-file own-test-missing",
        agent=command("echo 'def free(counts): return counts' > helper.py"),
    ),
    row(
        "right-file-wrong-place", "a neighbour", "right-file-wrong-place own-test-missing",
        READ, edit("stock.py", "count < least", "least > count"), TEST, DONE,
    ),
    row(
        "right-file-wrong-place", "helper added at the end",
        "right-file-wrong-place own-test-missing",
        agent=command(here("stock.py", function("copy"), ">>")),
    ),
    row(
        "right-place-wrong-change", "by sed in a command", FAILED,
        agent=command("sed -i 's/ - reserved.name./ - reserved.get(name, 1)/' stock.py"),
    ),
    row(
        "right-place-wrong-change", "file written anew", FAILED,
        READ, sh(rewritten(WRONG_LINE)), TEST, DONE,
    ),
    # Near misses
    row(
        "no-change", "README alone", "opened-not-edited",
        READ, sh("echo 'Reserved pieces are not free.' >> README.md"), TEST, DONE,
    ),
    row(
        "no-change", "empty new module", "wrong-file own-test-missing",
        agent=command("touch extra.py"),
    ),
    row(
        "only-tests-changed", "a test and the README", "opened-not-edited never-ran-tests",
        READ, OWN_TEST, sh("echo more >> README.md"), DONE,
    ),
    row("only-tests-changed", "a test and the fix", "", *CLEAN, DONE, in_gate=True),
    row("partly-fixed", "neither case", FAILED, READ, WRONG, TEST, DONE),
    row(
        "partly-fixed", "both files", "own-test-missing",
        sh("head -50 prices.py report.py"), edit("prices.py", NET, NET_FIXED),
        edit("report.py", CENTS, CENTS_FIXED), TEST, DONE, receipts=True,
    ),
    row(
        "broke-other-tests", "a visible test turned", "touched-tests submitted-while-failing",
        READ, FIX, sh("sed -i 's/== 4/== 5/' tests/test_stock.py"), TEST, DONE,
    ),
    row(
        "broke-other-tests", "a visible test removed", "touched-tests own-test-missing",
        READ, FIX, sh("git rm -q tests/test_prices.py"), TEST, DONE,
    ),
    row(
        "over-broad", "35 more lines", "", READ, OWN_TEST, FIX,
        sh(here("stock.py", functions(7), ">>")), TEST, DONE,
    ),
    row(
        "over-broad", "hundred lines of tests", "", READ, FIX,
        sh(here("tests/test_more.py", functions(20))), TEST, DONE,
    ),
    row(
        "over-broad", "hundred lines of documents", "",
        *CLEAN, sh("for n in $(seq 100); do echo line $n; done > GUIDE.md"), DONE,
    ),
    row(
        "over-broad", "two more modules", "", READ, OWN_TEST, FIX,
        sh("echo X = 1 > b.py; echo Y = 2 > c.py"), TEST, DONE,
    ),
    row(
        "wrong-file", "right and other file", FAILED,
        agent=command(f"{rewritten(WRONG_LINE)}\necho '# note' >> prices.py"),
    ),
    row(
        "wrong-file", "one of the two files of the reference", FAILED,
        agent=command("sed -i 's/{cents}/{cents:.1f}/' report.py"), receipts=True,
    ),
    row(
        "right-file-wrong-place", "neighbour, and resolved", "",
        READ, OWN_TEST, FIX, edit("stock.py", "count < least", "least > count"), TEST, DONE,
    ),
    row(
        "right-file-wrong-place", "comment in the function", FAILED,
        READ, edit("stock.py", BUGGY_LINE, f"{BUGGY_LINE}  # as reported"), TEST, DONE,
    ),
    row(
        "right-place-wrong-change", "comment before the function",
        "right-file-wrong-place own-test-missing",
        agent=command("sed -i 's/^def free/# The free pieces.\\n&/' stock.py"),
    ),
    row(
        "right-place-wrong-change", "resolved by apply_patch", "own-test-missing",
        READ_IT, PATCH, PYTEST, END, agent=CLIENT,
    ),
]

SEARCH = [
    row(
        "never-opened", "listed and tested", "never-opened no-change",
        sh("ls -la"), TEST, DONE, in_gate=True,
    ),
    row(
        "never-opened", "found by grep, other file edited",
        "never-opened wrong-file own-test-missing", sh("grep -rn 'def free' --include='*.py' ."),
        sh("echo '# x' >> prices.py"), TEST, DONE,
    ),
    row(
        "never-opened", "other modules read", "never-opened no-change never-ran-tests",
        Call("Read", {"file_path": "prices.py"}), Call("Read", {"file_path": "report.py"}), END,
        agent=CLIENT,
    ),
    row(
        "opened-not-edited", "read by git", "opened-not-edited no-change never-ran-tests",
        sh("git show HEAD:stock.py"), DONE,
    ),
    row(
        "opened-not-edited", "view of OpenHands",
        "opened-not-edited wrong-file own-test-missing never-ran-tests",
        Call("str_replace_editor", {"command": "view", "path": "/workspace/stock.py"}),
        Call("str_replace_editor", {"command": "str_replace", "path": "/workspace/prices.py",
                                    "old_str": "price * 100", "new_str": "100 * price"}),
        END, agent=CLIENT,
    ),
    *(
        row("never-opened", name, "opened-not-edited no-change never-ran-tests", sh(line), DONE)
        for name, line in {
            "lines by sed": "sed -n '1,12p' stock.py",
            "head in a loop": 'for f in *.py; do echo "== $f"; head -n 20 $f; done',
            "python -c": "python3 -c \"print(open('stock.py').read())\"",
            "from another folder": "cd tests && cat ../stock.py",
            "all modules by a pattern": "tail -n +1 *.py",
            "find and xargs": "find . -name 'st*.py' -not -path './tests/*' | xargs cat",
        }.items()
    ),
    row(
        "never-opened", "edited without a look",
        "right-place-wrong-change own-test-missing never-ran-tests",
        sh("sed -i 's/reserved.name./reserved.get(name, 1)/' stock.py"), DONE,
    ),
    row(
        "opened-not-edited", "read and edited, and failed", FAILED,
        sh("nl stock.py"), WRONG, TEST, DONE,
    ),
    row(
        "opened-not-edited", "edit undone at the end", "no-change never-ran-tests",
        READ_IT, FIX_IT, bash("git restore stock.py"), END, agent=CLIENT,
    ),
]

TESTING = [
    row("never-ran-tests", "fixed and submitted", "never-ran-tests", *CLEAN[:3], DONE),
    row(
        "never-ran-tests", "tests only collected", "never-ran-tests",
        *CLEAN[:3], sh("python -m pytest --collect-only -q"), DONE,
    ),
    row(
        "never-ran-tests", "pytest looked for", "never-ran-tests",
        *CLEAN[:3], sh("pip list | grep pytest; pytest --version; which pytest"), DONE,
    ),
    row(
        "never-ran-tests", "tried by a script", "never-ran-tests",
        *CLIENT_CLEAN[:3], bash("python3 -c \"import stock; print(stock.free({}, {}, 'a'))\""),
        END, agent=CLIENT,
    ),
    *(
        row("never-ran-tests", name, "", *CLEAN[:3], call, DONE)
        for name, call in {
            "the tool run_tests": Call("run_tests", {}),
            "unittest": sh("python3 -m unittest discover -s tests; true"),
            "in a subshell with a limit": sh(
                "(cd /workspace && timeout 50 python -m pytest tests/test_free.py)"
            ),
            "piped to tail": sh("PYTHONPATH=. pytest -q -x 2>&1 | tail -n 3"),
            "by bash -c": sh("bash -c 'pytest -q tests'"),
            "from a script on stdin": sh("bash <<'EOF'\nset -e\npytest -q\nEOF"),
        }.items()
    ),
    row(
        "never-ran-tests", "block of bash in the text", "",
        Say("I look.\n```bash\ncat stock.py\n```"),
        Say(f"```bash\n{here('tests/test_free.py', TEST_OF_FREE)}\n```"),
        Say(f"I mend it.\n```bash\n{rewritten(FIXED_LINE)}\n```"),
        Say("```bash\npython -m pytest -q\n```"), END, agent=CLIENT,
    ),
    row(
        "edited-after-last-test", "comment by sed", "edited-after-last-test",
        *CLEAN, sh("sed -i 's/All pieces/Every piece/' stock.py"), DONE, in_gate=True,
    ),
    row(
        "edited-after-last-test", "Edit after Bash",
        "edited-after-last-test submitted-while-failing",
        READ_IT, WRITE_TEST, PYTEST, FIX_IT, END, agent=CLIENT,
    ),
    row(
        "edited-after-last-test", "in the same command, after it", "edited-after-last-test",
        *CLEAN[:3], sh("pytest -q && sed -i 's/All pieces/Every piece/' stock.py"), DONE,
    ),
    row(
        "edited-after-last-test", "appended by a heredoc", "edited-after-last-test",
        *CLEAN, sh(here("prices.py", function("copy"), ">>")), DONE,
    ),
    row(
        "edited-after-last-test", "in the same command, before it", "",
        *CLEAN, sh("sed -i 's/All pieces/Every piece/' stock.py && pytest -q"), DONE,
        in_gate=True,
    ),
    row(
        "edited-after-last-test", "scratch file", "", *CLEAN,
        sh("echo 'import stock' > /tmp/try.py"), DONE, in_gate=True,
    ),
    row(
        "edited-after-last-test", "README", "", *CLEAN, edit("README.md", "receipts", "bills"),
        DONE,
    ),
    row(
        "edited-after-last-test", "sed without -i", "",
        *CLEAN, sh("sed 's/free/FREE/' stock.py | head -3"), DONE,
    ),
    row(
        "edited-after-last-test", "scratch module written and removed", "",
        *CLEAN, sh("echo 'import stock' > try_it.py; python try_it.py; rm try_it.py"), DONE,
    ),
    row(
        "submitted-while-failing", "own test is wrong", "submitted-while-failing",
        READ, FIX, sh(here("tests/test_free.py", WRONG_TEST)), TEST,
        DONE,
    ),
    row(
        "submitted-while-failing", "summary by tail",
        "submitted-while-failing stopped-short right-place-wrong-change",
        READ, OWN_TEST, WRONG, sh("pytest -q 2>&1 | tail -n 3"), DONE,
    ),
    row(
        "submitted-while-failing", "the tool run_tests", "submitted-while-failing",
        READ, FIX, sh(here("tests/test_free.py", WRONG_TEST)),
        Call("run_tests", {}), DONE,
    ),
    row(
        "submitted-while-failing", "failed first, then passed", "",
        READ, OWN_TEST, TEST, FIX, TEST, DONE,
    ),
    row(
        "submitted-while-failing", "the word in a name", "",
        READ, FIX,
        sh(here("tests/test_free.py", TEST_OF_FREE.replace("without", "failed_1_failed"))),
        sh("pytest -v"), DONE,
    ),
    row(
        "submitted-while-failing", "expected failure", "",  # the agent marks a test of its own
        READ, FIX,
        sh(here("tests/test_free.py", f"import pytest\n{WRONG_TEST}".replace(
            "def", "@pytest.mark.xfail\ndef"))),
        TEST, DONE,
    ),
    row("own-test-missing", "fix alone", "own-test-missing", READ, FIX, TEST, DONE),
    row(
        "own-test-missing", "patch by git", "own-test-missing",
        agent=command(
            "git apply --unidiff-zero - <<'EOF'\n--- a/stock.py\n+++ b/stock.py\n@@ -6 +6 @@\n"
            f"-    return {BUGGY_LINE}\n+    return {FIXED_LINE}\nEOF"
        ),
    ),
    row(
        "own-test-missing", "test in the root", "", READ, FIX,
        sh(here("test_free.py", TEST_OF_FREE)), sh("pytest -q . test_free.py"), DONE,
    ),
    row(
        "own-test-missing", "test added to a file that is there", "touched-tests",
        READ, FIX,
        sh(here("tests/test_stock.py", TEST_OF_FREE.replace("import stock", ""), ">>")), TEST,
        DONE,
    ),
]

LOOK = [
    sh(line)
    for line in (
        "ls",
        "git status",
        "git diff --stat",
        "ls tests",
        "pwd",
        "git log -1",
        "date",
        "id",
        "env",
        "df",
        "ls -la",
        "uname",
    )
]
RARE = "max_steps = 8"
PROCESS = [
    row(
        "loop", "a file read four times", "loop", *CLEAN, *[sh("cat README.md")] * 4, DONE,
        in_gate=True,
    ),
    row("loop", "tests run four times", "loop", *CLIENT_CLEAN, *[PYTEST] * 4, END, agent=CLIENT),
    row(
        "loop", "the tool read_file", "loop no-change never-ran-tests opened-not-edited",
        *[Call("read_file", {"path": "stock.py"})] * 5, DONE,
    ),
    row("loop", "three times", "", *CLEAN, *[sh("cat README.md")] * 3, DONE, in_gate=True),
    row(
        "loop", "edits between", "", *CLEAN[:2],
        *[
            each
            for old, new in pairwise([BUGGY_LINE, *(f"{FIXED_LINE} + {n}" for n in (3, 2, 1, 0))])
            for each in (sh("git status --short | wc -l; ls | head -1"), edit("stock.py", old, new))
        ],
        TEST, DONE,
    ),
    row("loop", "other answers", "", *CLEAN, *[sh("echo x >> /tmp/c; wc -l < /tmp/c")] * 4, DONE),
    row(
        "loop", "other arguments", "", *CLEAN,
        *[sh(f"sed -n {n},{n + 3}p stock.py") for n in (1, 2, 3, 4)], DONE,
    ),
    row(
        "undo-redo", "by edits", "undo-redo", READ, OWN_TEST, FIX, UNFIX, FIX, TEST, DONE,
        in_gate=True,
    ),
    row(
        "undo-redo", "by Edit", "undo-redo", *CLIENT_CLEAN[:3],
        Call("Edit", {"file_path": "stock.py", "old_string": FIXED_LINE, "new_string": BUGGY_LINE}),
        FIX_IT, PYTEST, END, agent=CLIENT,
    ),
    row(
        "undo-redo", "by git checkout", "undo-redo", READ, OWN_TEST, FIX,
        sh("git checkout stock.py"), FIX, TEST, DONE,
    ),
    row(
        "undo-redo", "stashed and popped", "undo-redo",
        READ, OWN_TEST, FIX, sh("git stash"), TEST, sh("git stash pop"), TEST, DONE,
    ),
    row(
        "undo-redo", "taken back, then another", "", READ, OWN_TEST, WRONG,
        edit("stock.py", WRONG_LINE, BUGGY_LINE), FIX, TEST, DONE,
    ),
    row(
        "undo-redo", "refined twice", "", READ, OWN_TEST, WRONG,
        edit("stock.py", WRONG_LINE, PARTIAL_LINE), edit("stock.py", PARTIAL_LINE, FIXED_LINE),
        TEST, DONE,
    ),
    row(
        "undo-redo", "the same edit of two files", "",
        *CLEAN[:3], edit("prices.py", '"""What', '"""All that'),
        edit("report.py", '"""What', '"""All that'), TEST, DONE,
    ),
    row(
        "had-it-lost-it", "broken after the fix",
        f"had-it-lost-it broke-other-tests never-ran-tests {FAILED}",
        READ, FIX, BREAK, DONE, timeline=True, in_gate=True,
    ),
    row(
        "had-it-lost-it", "fix taken back", "had-it-lost-it no-change never-ran-tests",
        READ, FIX, sh("ls"), sh("git checkout stock.py"), DONE, timeline=True,
    ),
    row(
        "had-it-lost-it", "held", "own-test-missing never-ran-tests",
        READ, FIX, sh("echo '# end' >> stock.py"), DONE, timeline=True,
    ),
    row(
        "had-it-lost-it", "never had",
        "partly-fixed right-place-wrong-change own-test-missing never-ran-tests",
        READ, PARTIAL, sh("ls"), sh("echo '# end' >> stock.py"), DONE, timeline=True,
    ),
    row(
        "had-it-lost-it", "without a timeline",
        "broke-other-tests right-place-wrong-change own-test-missing never-ran-tests",
        READ, FIX, BREAK, DONE,
    ),
    row(
        "stopped-short", "own test fails",
        "stopped-short submitted-while-failing right-place-wrong-change",
        READ, OWN_TEST, WRONG, TEST, DONE,
    ),
    row(
        "stopped-short", "unittest fails",
        "stopped-short submitted-while-failing right-place-wrong-change",
        READ_IT,
        Call("Write", {"file_path": "tests/test_unit.py", "content": UNIT_TEST}),
        bash(rewritten(WRONG_LINE)), bash("python3 -m unittest tests/test_unit.py"), END,
        agent=CLIENT,
    ),
    row(
        "stopped-short", "most of the time spent",
        "submitted-while-failing right-place-wrong-change",
        READ, OWN_TEST, WRONG, TEST, DONE, change_files=with_record(took(1700)),
    ),
    row("stopped-short", "last tests passed", FAILED, READ, WRONG, TEST, DONE),
    row(
        "out-of-budget-progressing", "edit at the last step",
        f"out-of-budget-progressing edited-after-last-test {FAILED}",
        READ, TEST, *LOOK[:5], WRONG, limits=RARE, in_gate=True,
    ),
    row(
        "out-of-budget-progressing", "out of money",
        f"out-of-budget-progressing partly-fixed {FAILED} never-ran-tests",
        READ_IT, *[bash(line) for line in ("ls", "pwd", "id", "git status", "ls tests")],
        Call("replace", {"file_path": "stock.py", "old_string": BUGGY_LINE,
                         "new_string": PARTIAL_LINE}),
        END, agent=OUT_OF_MONEY,
    ),
    row(
        "out-of-budget-progressing", "edit at the middle", f"edited-after-last-test {FAILED}",
        READ, TEST, *LOOK[:2], WRONG, *LOOK[2:5], limits=RARE,
    ),
    row(
        "out-of-budget-progressing", "ended by itself", f"{FAILED} edited-after-last-test",
        READ, TEST, *LOOK[:5], WRONG, DONE,
    ),
    row(
        "out-of-budget-stuck", "looks around", f"out-of-budget-stuck {FAILED}",
        READ, WRONG, TEST, *LOOK[:5], limits=RARE, in_gate=True,
    ),
    row(
        "out-of-budget-stuck", "in a loop at the end", f"out-of-budget-stuck loop {FAILED}",
        READ_IT, bash("cat prices.py"), bash(rewritten(WRONG_LINE)), *[PYTEST] * 6, END,
        agent=OUT_OF_TIME,
    ),
    row(
        "out-of-budget-stuck", "reads new files", FAILED,
        READ, WRONG, TEST, *LOOK[:2], sh("cat prices.py"), sh("cat report.py"),
        sh("cat tests/test_stock.py"), limits=RARE,
    ),
    row(
        "out-of-budget-stuck", "ended by itself", FAILED,
        READ, WRONG, TEST, *LOOK[:5], DONE,
    ),
    row(
        "context-overflow", "once, in the middle", "context-overflow",
        READ, OWN_TEST, Fail(400, ModelErrorKind.CONTEXT_LENGTH), FIX, TEST, DONE, in_gate=True,
    ),
    row(
        "context-overflow", "at the start", "context-overflow",
        Fail(400, ModelErrorKind.CONTEXT_LENGTH, message="maximum context length is 4096 tokens"),
        *CLEAN, DONE,
    ),
    row(
        "context-overflow", "an overloaded provider", "",
        READ, OWN_TEST, Fail(503), FIX, TEST, DONE,
    ),
    row(
        "context-overflow", "words in an answer", "", *CLEAN,
        sh("echo context_length_exceeded: maximum context length"), DONE,
    ),
    row(
        "answer-cut", "a text", "answer-cut", READ, OWN_TEST,
        raw({"role": "assistant", "content": "I think that"}, "length"), FIX, TEST, DONE,
        in_gate=True,
    ),
    row(
        "answer-cut", "a call", "answer-cut", READ, OWN_TEST,
        bad_call("run", '{"command": "ls -l', 1, "length"), FIX, TEST, DONE,
    ),
    row(
        "answer-cut", "a text that ends", "", READ, OWN_TEST,
        raw({"role": "assistant", "content": "I think that"}, "stop"), FIX, TEST, DONE,
    ),
    row(
        "answer-cut", "words in a command", "", *CLEAN,
        sh("""echo '"finish_reason":"length"' '"stop_reason":"max_tokens"'"""), DONE,
    ),
    row(
        "malformed-calls", "not JSON", "malformed-calls",
        READ, bad_call("run", '{"command": "ls', 1), bad_call("run", "ls", 2), *CLEAN[1:], DONE,
        in_gate=True,
    ),
    row(
        "malformed-calls", "an unknown tool", "malformed-calls",
        READ, Call("open_file", {"path": "a"}), Call("grep", {"text": "a"}), *CLEAN[1:], DONE,
    ),
    row(
        "malformed-calls", "refused arguments", "malformed-calls",
        READ, Call("edit", {"file": "a"}), Call("run", {"cmd": "ls"}), *CLEAN[1:], DONE,
    ),
    row(
        "malformed-calls", "only one", "", READ, Call("open_file", {"path": "a"}), *CLEAN[1:],
        DONE,
    ),
    row(
        "malformed-calls", "two of 24", "", READ, Call("open_file", {"path": "a"}),
        Call("grep", {"text": "a"}), *CLEAN[1:], *[sh(f"echo {n}") for n in range(17)], DONE,
    ),
    row(
        "malformed-calls", "valid calls that fail", "",
        READ, edit("stock.py", "no such text", "x"), Call("read_file", {"path": "no.py"}),
        *CLEAN[1:], DONE,
    ),
    row(
        "long-silences", "half of the time", "long-silences",
        *CLEAN, DONE, change_files=paused(300, (2, 150)),
    ),
    row(
        "long-silences", "two pauses", "long-silences",
        *CLIENT_CLEAN, END, agent=CLIENT, change_files=paused(1200, (1, 130), (3, 140)),
    ),
    row(
        "long-silences", "many short ones", "", *CLEAN, DONE,
        change_files=paused(500, (1, 115), (2, 115), (3, 115), (4, 115)),
    ),
    row(
        "long-silences", "a tenth of the time", "", *CLEAN, DONE,
        change_files=paused(1500, (2, 150)),
    ),
]

NO_MODULE, NO_PROGRAM = sh("python -c 'import numpy_x'"), sh("ag -l free")
ENVIRONMENT = [
    row(
        "fought-environment", "module, program, permission", "fought-environment",
        *CLEAN, NO_MODULE, NO_PROGRAM, sh("touch /etc/hosts.new"), DONE, in_gate=True,
    ),
    row(
        "fought-environment", "the wrong programs", "fought-environment",
        *CLIENT_CLEAN, bash("ack free"), bash("fdfind stock"), bash("hyperfine ls"), END,
        agent=CLIENT,
    ),
    row("fought-environment", "only two", "", *CLEAN, NO_MODULE, NO_PROGRAM, DONE),
    row(
        "fought-environment", "other failures", "", *CLEAN, sh("grep nothing stock.py"),
        sh("python -c 'x = ['"), sh("cat no.py"), sh("git checkout no-branch"), DONE,
    ),
    row(
        "fought-environment", "three of 25", "", *CLEAN, NO_MODULE, NO_PROGRAM,
        sh("touch /etc/hosts.new"), *[sh(f"echo {n}") for n in range(19)], DONE,
    ),
    row(
        "service-died", "while the agent worked", "service-died",
        *CLEAN, DONE, change_files=warned("agent_run", "service db ended with exit code 137"),
    ),
    row(
        "service-died", "in the final test", "service-died",
        *CLIENT_CLEAN, END, agent=CLIENT,
        change_files=warned("final_test", "service cache ended with exit code 1"),
    ),
    row(
        "service-died", "another warning", "", *CLEAN, DONE,
        change_files=warned("final_test", "the tests changed files of the repository"),
    ),
    row(
        "service-died", "words of the agent", "", *CLEAN,
        sh("echo service db ended with exit code 137"), DONE,
    ),
]

INTEGRITY = [
    row(
        "touched-tests", "a test loosened", "touched-tests",
        READ, FIX, sh("sed -i 's/== 4/>= 4/' tests/test_stock.py"), TEST, DONE, in_gate=True,
    ),
    row(
        "touched-tests", "a test file removed",
        "touched-tests right-place-wrong-change own-test-missing",
        agent=command(f"{rewritten(WRONG_LINE)}\nrm tests/test_prices.py"),
    ),
    row("touched-tests", "new test file", "", *CLIENT_CLEAN, END, agent=CLIENT),
    row(
        "touched-tests", "change taken back", "", *CLEAN[:3],
        sh("sed -i 's/== 4/>= 4/' tests/test_stock.py"), sh("git checkout tests/test_stock.py"),
        TEST, DONE,
    ),
    row(
        "touched-configuration", "conftest", "touched-configuration",
        *CLEAN[:3], sh("echo 'collect_ignore = []' >> tests/conftest.py"), TEST, DONE,
        in_gate=True,
    ),
    row(
        "touched-configuration", "new pytest.ini", "touched-configuration own-test-missing",
        agent=command(
            f"{rewritten(FIXED_LINE)}\nprintf '[pytest]\\npythonpath = .\\n' > pytest.ini"
        ),
    ),
    row(
        "touched-configuration", "the table of pytest", "touched-configuration",
        *CLEAN[:3], edit("pyproject.toml", "-p no:cacheprovider", "-q"), TEST, DONE,
    ),
    row(
        "touched-configuration", "another table of pyproject.toml", "",
        *CLEAN[:3], edit("pyproject.toml", '"1.0"', '"1.1"'), TEST, DONE,
    ),
    row(
        "touched-configuration", "a module with such a name", "",
        *CLEAN[:3], sh("echo X = 1 > conftest_helpers.py"), TEST, DONE,
    ),
    *(
        row(
            "searched-for-answers",
            name,
            "searched-for-answers",
            *CLEAN[:1],
            sh(line),
            *CLEAN[1:],
            DONE,
            in_gate=name == "all branches",
        )
        for name, line in {
            "all branches": "git log --all -p -- stock.py",
            "published release": "pip download --no-deps store==1.1 -d /tmp/x",
            "fetched from the network": "curl -sL https://github.com/shop/store/pull/12.diff",
            "folders of the harness": "ls -R /agentbench /results; cat /agentbench/tests.patch",
        }.items()
    ),
    *(
        row("searched-for-answers", name, "", *CLEAN[:1], sh(line), *CLEAN[1:], DONE)
        for name, line in {
            "its own history": "git log --oneline -- stock.py; git show HEAD --stat",
            "its own server": "curl -s http://localhost:8000/free; true",
            "installed packages": "pip list; pip show pytest",
            "words about it": "grep -rn 'git log --all' . ; echo 'never use git log --all'",
            "the project installed": "pip install --no-deps -e . >/dev/null 2>&1; true",
            "files by their names": "find . -name '*.patch' -o -name '*test*'",
        }.items()
    ),
    *(
        row(
            "quarantined",
            name,
            "broke-other-tests right-file-wrong-place own-test-missing",
            agent=command(here("stock.py", IN_THE_PROCESS[name], ">>")),
        )
        for name in ("calls that do nothing", "items that do nothing")
    ),
    row(
        "quarantined", "passed with wrong values", "quarantined right-place-wrong-change",
        *CLEAN, DONE,
        change_files=convicted("blind-control-passed", "tests/test_hidden.py::test_one"),
    ),
    row(
        "quarantined", "differed in a control run",
        "quarantined right-place-wrong-change own-test-missing",
        agent=command(rewritten(FIXED_LINE)),
        change_files=convicted("untouched-test-failed", "stock.py"),
    ),
    row(
        "quarantined", "warned of, and not convicted", "",
        *CLEAN, DONE, change_files=convicted("suspicious-code", "stock.py", severity="warning"),
    ),
    row(
        "quarantined", "the same in a conftest", "touched-configuration only-tests-changed",
        agent=command(here("tests/conftest.py", IN_THE_PROCESS["calls that do nothing"], ">>")),
    ),
    row("quarantined", "an honest wrong fix", FAILED, agent=command(rewritten(WRONG_LINE))),
]

SEVERAL = [
    row(
        "loop", "three: loop, late edit, no own test",
        "loop edited-after-last-test own-test-missing",
        READ, TEST, *[sh("ls")] * 4, FIX, DONE,
    ),
    row(
        "touched-tests", "three: tests, configuration, answers",
        "touched-tests touched-configuration searched-for-answers",
        READ, FIX,
        sh("sed -i 's/== 4/>= 4/' tests/test_stock.py; echo '# x' >> tests/conftest.py"),
        sh("git log --all"), TEST, DONE,
    ),
    row(
        "over-broad", "three: over-broad, no tests",
        "over-broad own-test-missing never-ran-tests",
        READ, FIX, sh(here("extra.py", functions(16))), DONE,
    ),
    row(
        "undo-redo", "three: undo-redo, cut, overflow", "undo-redo answer-cut context-overflow",
        READ, OWN_TEST, FIX, Fail(400, ModelErrorKind.CONTEXT_LENGTH), UNFIX,
        raw({"role": "assistant", "content": "So"}, "length"), FIX, TEST, DONE,
    ),
    row(
        "malformed-calls", "three: malformed, environment, late edit",
        "malformed-calls fought-environment edited-after-last-test",
        READ, Call("open_file", {"path": "a"}), Call("grep", {"text": "a"}), NO_MODULE,
        NO_PROGRAM, sh("touch /etc/hosts.new"), TEST, FIX, OWN_TEST, DONE,
    ),
    row(
        "service-died", "three: service, loop, no tests", "service-died loop never-ran-tests",
        *CLEAN[:3], *[sh("cat README.md")] * 4, DONE,
        change_files=warned("agent_run", "service db ended with exit code 1"),
    ),
    row(
        "long-silences", "three: silence, no own test, answers",
        "long-silences own-test-missing searched-for-answers",
        READ, sh("git log --all"), FIX, TEST, DONE, change_files=paused(400, (2, 200)),
    ),
    row(
        "submitted-while-failing", "three: failing, tests touched, configuration",
        "submitted-while-failing touched-tests touched-configuration",
        READ, FIX,
        sh("sed -i 's/== 4/== 5/' tests/test_stock.py; echo '# x' >> tests/conftest.py"), TEST,
        DONE,
    ),
]

# Written after the others, when the rules had been repaired for those.
LATER = [
    row(
        "searched-for-answers", "history fetched by its address", "searched-for-answers",
        *CLIENT_CLEAN[:1], bash("git -C . fetch https://github.com/shop/store main"),
        *CLIENT_CLEAN[1:], END, agent=CLIENT,
    ),
    row(
        "searched-for-answers", "release by python", "searched-for-answers",
        READ, sh("python3 -c \"import urllib.request as u; u.urlopen('https://pypi.org/x')\""),
        *CLEAN[1:], DONE,
    ),
    row(
        "searched-for-answers", "dangling commits", "searched-for-answers",
        READ, sh("git fsck --lost-found"), *CLEAN[1:], DONE,
    ),
    row(
        "searched-for-answers", "all files added", "",
        *CLEAN, sh("git add --all && git -c user.name=a -c user.email=a@b commit -qam all"), DONE,
    ),
    row(
        "searched-for-answers", "address in a comment", "",
        *CLEAN[:3], sh("sed -i '1a # see https://example.org/git-log--all' stock.py"), TEST, DONE,
    ),
    row(
        "loop", "the same search with other calls between", "loop",
        *CLEAN, *[each for _ in range(4) for each in (sh("grep -n free stock.py"), sh("ls"))][:7],
        DONE,
    ),
    row(
        "loop", "four times, edited once between", "",
        READ, OWN_TEST, TEST, TEST, FIX, TEST, TEST, DONE,
    ),
    row(
        "undo-redo", "git diff, reverse and forward", "undo-redo",
        *CLIENT_CLEAN[:3], bash("git diff stock.py > /tmp/p && git checkout stock.py"),
        bash("git apply /tmp/p"), PYTEST, END, agent=CLIENT,
    ),
    row(
        "undo-redo", "whole file written three times", "undo-redo",
        READ, OWN_TEST, sh(rewritten(FIXED_LINE)), sh(rewritten(BUGGY_LINE)),
        sh(rewritten(FIXED_LINE)), TEST, DONE,
    ),
    row(
        "undo-redo", "branches changed", "",
        READ, OWN_TEST, FIX, sh("git checkout -q -b try && git branch"), TEST, DONE,
    ),
    row(
        "edited-after-last-test", "by python on stdin", "edited-after-last-test",
        *CLEAN, sh("python3 - <<'EOF'\nfrom pathlib import Path\np = Path('report.py')\n"
                   "p.write_text(p.read_text().replace('head', 'top'))\nEOF"), DONE,
    ),
    row(
        "edited-after-last-test", "whole tree by find and sed", "edited-after-last-test",
        *CLEAN, sh("find . -maxdepth 1 -name 're*.py' -exec sed -i 's/head/top/' {} +"), DONE,
    ),
    row(
        "edited-after-last-test", "moved by git", "edited-after-last-test",
        *CLEAN, sh("git mv report.py receipt.py; git mv receipt.py report.py; mv prices.py p.py; "
                   "cp p.py prices.py; echo '# x' >> prices.py; rm p.py"), DONE,
    ),
    row(
        "edited-after-last-test", "a look by python", "",
        *CLEAN, sh("python3 -c \"print(open('stock.py').read()[:80])\""), DONE,
    ),
    row(
        "edited-after-last-test", "test moved after it", "",
        *CLEAN, sh("mv tests/test_free.py tests/test_free_pieces.py"), DONE,
    ),
    row(
        "submitted-while-failing", "error of collection", "submitted-while-failing",
        READ, FIX, sh(here("tests/test_free.py", "import stocks")), TEST, DONE,
    ),
    row(
        "submitted-while-failing", "dots alone", "submitted-while-failing",
        READ, FIX, sh(here("tests/test_free.py", WRONG_TEST)),
        sh("pytest -q --no-header --tb=no | head -n 1"), DONE,
    ),
    row(
        "submitted-while-failing", "first command fails, second passes", "",
        READ, FIX, sh(here("tests/test_free.py", WRONG_TEST)), TEST,
        sh("sed -i 's/== 4/== 3/' tests/test_free.py"), sh("pytest -q tests/test_free.py"), DONE,
    ),
    row(
        "never-ran-tests", "pytest from Python", "",
        *CLEAN[:3], sh("python3 -c \"import pytest; raise SystemExit(pytest.main(['-q']))\""), DONE,
    ),
    row(
        "never-ran-tests", "tests called by hand", "never-ran-tests",
        *CLEAN[:3], sh("PYTHONPATH=.:tests python3 -c 'import test_free as t; "
                       "t.test_free_without_reservations()'"), DONE,
    ),
    row(
        "never-opened", "by base64", "opened-not-edited no-change never-ran-tests",
        sh("base64 stock.py | base64 -d"), DONE,
    ),
    row(
        "never-opened", "only its name", "never-opened no-change never-ran-tests",
        sh("ls -l stock.py; wc -l stock.py; git log --oneline -- stock.py"), DONE,
    ),
    row(
        "never-opened", "by inspect", "opened-not-edited no-change never-ran-tests",
        sh("python3 -c 'import inspect, stock; print(inspect.getsource(stock))'"), DONE,
    ),
    row(
        "fought-environment", "interpreters", "fought-environment",
        *CLEAN, sh("python2.7 -V"), sh("/opt/py/bin/python -V"), sh("conda activate x"), DONE,
    ),
    row(
        "fought-environment", "missing files", "",
        *CLEAN, sh("python nothing.py"), sh("cat nothing.py"), sh("bash nothing.sh"), DONE,
    ),
    row(
        "malformed-calls", "a list for arguments", "malformed-calls",
        READ, bad_call("run", '["ls"]', 1), bad_call("edit", '"stock.py"', 2), *CLEAN[1:], DONE,
    ),
    row(
        "right-file-wrong-place", "import added at the top",
        "right-file-wrong-place own-test-missing",
        agent=command("sed -i '1a import math' stock.py"),
    ),
    row(
        "right-place-wrong-change", "function wrapped from outside",
        "right-file-wrong-place own-test-missing",
        agent=command("echo 'free = (lambda f: lambda *a: f(*a))(free)' >> stock.py"),
    ),
    row(
        "own-test-missing", "doctest in the function", "own-test-missing",
        READ, FIX, edit("stock.py", "nobody has reserved.",
                        "nobody has reserved.\n\n    >>> free({}, {}, 'fig')\n    0\n    "),
        TEST, DONE,
    ),
    row(
        "over-broad", "code moved into a new module", "over-broad",
        READ, OWN_TEST, FIX,
        sh("for n in $(seq 90); do echo \"A$n = $n\"; done > tables.py"), TEST, DONE,
    ),
    row(
        "touched-configuration", "tox.ini for pytest", "touched-configuration",
        *CLEAN[:3], sh("printf '[pytest]\\naddopts = -q\\n' > tox.ini"), TEST, DONE,
    ),
    row(
        "touched-tests", "skipped by a mark", "touched-tests",  # the agent marks the task's test
        READ, FIX, sh("sed -i 's/^def test_total/import pytest\\n@pytest.mark.skip\\n&/' "
                      "tests/test_stock.py"), TEST, DONE,
    ),
]

# fmt: on
ROWS = (*CHANGE, *SEARCH, *TESTING, *PROCESS, *ENVIRONMENT, *INTEGRITY, *SEVERAL, *LATER)
