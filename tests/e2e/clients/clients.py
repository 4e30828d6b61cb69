"""The real clients, and what a model says to make each do a thing with its own tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.scripted_answers import Script
from tests.fakes.scripted_model import Answer, Call, Cut, Fail, Say, Tokens, by_turn

TOLD = Tokens(input=120, output=30, cached=20)
SHIPPED = "interval-merge-touching"
LIMITED = Fail(429, retry_after=0)
WORKSPACE = "/workspace"  # in Docker and in bubblewrap
LOOK = "python -c 'import pytest; print(40 + 2, pytest.__name__)'"
SEEN = b"42 pytest"  # what comes of it, in the environment of the task
DONE = Say("That mends it.", TOLD)
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of one file."""

    path: str
    content: str  # of the file before
    old: str
    new: str


Editing = Callable[[Edit], list[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client of models."""

    name: str
    model: str
    edit: Editing
    shell: Callable[[str], Answer] | None = None  # makes it run a command
    impatient: Mapping[str, str] = field(default_factory=dict)  # so that it gives up soon
    stumbles: tuple[Answer, ...] = (LIMITED, Cut())  # what it gets over
    last: Answer | None = DONE  # None: it ends by itself once its edit is made

    def working(self, edit: Edit) -> list[Answer]:
        """What lets it look for pytest, make a change and end."""
        look = [self.shell(LOOK)] if self.shell else []
        return [*look, *self.edit(edit), *([self.last] if self.last else [])]


def _replace(
    tool: str, path: str, old: str, new: str, *, read: str = ""
) -> Callable[[Edit], list[Answer]]:
    def answers(edit: Edit) -> list[Answer]:
        where = f"{WORKSPACE}/{edit.path}"
        change = Call(tool, {path: where, old: edit.old, new: edit.new}, tokens=TOLD)
        return [*([Call(read, {path: where}, tokens=TOLD)] if read else []), change]

    return answers


def _by_shell(shell: Callable[[str], Answer]) -> Editing:
    def answers(edit: Edit) -> list[Answer]:
        script = (
            "import pathlib, sys; path = pathlib.Path(sys.argv[1]); "
            "path.write_text(path.read_text().replace(sys.argv[2], sys.argv[3]))"
        )
        return [shell(f"python -c '{script}' '{edit.path}' '{edit.old}' '{edit.new}'")]

    return answers


def _whole_file(edit: Edit) -> list[Answer]:
    text = edit.content.replace(edit.old, edit.new)
    return [Say(f"{edit.path}\n```\n{text}```\n", TOLD)]


def _mini(command: str) -> Answer:
    return Call("bash", {"command": command}, tokens=TOLD)


def _codex(command: str) -> Answer:
    return Call("exec_command", {"cmd": command, "yield_time_ms": 30_000}, tokens=TOLD)


CLIENTS = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            model="anthropic/scripted",
            edit=_replace("Edit", "file_path", "old_string", "new_string", read="Read"),
            shell=lambda command: Call("Bash", {"command": command}, tokens=TOLD),
            impatient={"CLAUDE_CODE_MAX_RETRIES": "1"},
        ),
        Client(name="codex", model="openai/scripted", edit=_by_shell(_codex), shell=_codex),
        Client(
            name="mini-swe-agent",
            model="openai/scripted",
            edit=_by_shell(_mini),
            shell=_mini,
            impatient={"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1"},
            last=_mini(SUBMIT),
        ),
        Client(name="aider", model="openai/scripted", edit=_whole_file, last=None),
        Client(
            name="opencode",
            model="openai/scripted",
            edit=_replace("edit", "filePath", "oldString", "newString"),
            shell=lambda command: Call(
                "bash", {"command": command, "description": "x"}, tokens=TOLD
            ),
        ),
        Client(
            name="gemini-cli",
            model="gemini/scripted",
            edit=lambda edit: [
                Call(
                    "replace",
                    {
                        "file_path": f"{WORKSPACE}/{edit.path}",
                        "old_string": edit.old,
                        "new_string": edit.new,
                        "instruction": "Mend it.",
                    },
                    tokens=TOLD,
                )
            ],
            shell=lambda command: Call("run_shell_command", {"command": command}, tokens=TOLD),
            stumbles=(LIMITED,),
        ),
        Client(
            name="qwen-code",
            model="openai/scripted",
            edit=_replace("edit", "file_path", "old_string", "new_string", read="read_file"),
            shell=lambda command: Call(
                "run_shell_command",
                {"command": command, "is_background": False, "description": "x"},
                tokens=TOLD,
            ),
            stumbles=(LIMITED,),  # of a cut stream it keeps the piece, and goes on behind it
        ),
    )
}


def shipped_edit(catalogue: Path) -> Edit:
    """What mends the shipped task, as its solution does."""
    path = "spans/sets.py"
    content = (catalogue / SHIPPED / "repo" / path).read_text()
    old, new = "merged[-1].overlaps(interval)", "interval.start <= merged[-1].end"
    assert content.count(old) == 1
    return Edit(path=path, content=content, old=old, new=new)


def after_stumbles(client: Client, edit: Edit) -> Script:
    """What lets a client work, once what it gets over has passed."""
    troubles = list(client.stumbles)
    told = by_turn(client.working(edit))
    return lambda asked: troubles.pop(0) if troubles else told(asked)
