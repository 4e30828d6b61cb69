"""Rules about a task's environment: what comes into it from outside."""

import re
from collections.abc import Iterator
from pathlib import Path

from agentbench.audit.installs import Install, clones_of, installs_of, requirements_in
from agentbench.audit.project_name import normalised, project_names
from agentbench.audit.rule import Seen
from agentbench.audit.task_facts import TaskFacts
from agentbench.scoring.evidence import Severity

_TASK_FILE = "task.toml"
_LARGEST = 1024 * 1024
_SECRET_WORDS = frozenset(
    {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
     "APIKEY", "AUTH"}
)  # fmt: skip
_SECRET_VALUES = re.compile(
    r"(sk|pk|rk)-[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}"
    r"|xox[abprs]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@]+:[^/\s@]+@"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")


def fixed_release_installed(facts: TaskFacts) -> Iterator[Seen]:
    """Set-up has a network: the project's newer release holds the fix, in site-packages."""
    names = project_names(facts.base)
    for where, install in _installs(facts):
        if install.name and normalised(install.name) in names:
            what = f"installs {install.name}, the project itself, from an index"
            yield Seen(Severity.WARNING, where, f"{what}: a fixed release may be installed")
        elif _is_upstream(install.url, facts, names):
            what = f"installs the project from {install.url}: a fixed state may be installed"
            yield Seen(Severity.WARNING, where, what)
    for where, command in _commands(facts):
        for url in clones_of(command):
            if _is_upstream(url, facts, names):
                what = f"fetches {url}: the history of the project stays in the sandbox"
                yield Seen(Severity.WARNING, where, what)


def unpinned_installs(facts: TaskFacts) -> Iterator[Seen]:
    """What is not pinned is another thing next year, and may bring the project along, fixed."""
    names = project_names(facts.base)
    installs = list(_installs(facts))
    loose = {
        install.name: where
        for where, install in installs
        if install.name and not install.pinned and normalised(install.name) not in names
    }
    if not loose:
        return
    what = f"not pinned with ==: {', '.join(sorted(loose))}"
    if not any(install.local for _, install in installs):
        what += "; the checkout is not installed, so one of these may bring a release of it along"
    yield Seen(Severity.INFO, next(iter(loose.values())), what)


def secrets_in_environment(facts: TaskFacts) -> Iterator[Seen]:
    """An agent reads its environment, and a record may quote it: a secret there is lost."""
    for name, value in facts.task.environment.env.items():
        where = f"{_TASK_FILE}: environment.env.{name}"
        if value and not _SECRET_WORDS.isdisjoint(word.upper() for word in _WORDS.findall(name)):
            yield Seen(Severity.WARNING, where, "is named like a secret; the agent can read it")
        elif _SECRET_VALUES.search(value):
            yield Seen(Severity.WARNING, where, "has the form of a secret; the agent can read it")
    for where, command in _commands(facts):
        if _SECRET_VALUES.search(command):
            yield Seen(Severity.WARNING, where, "bears what has the form of a secret")


def _installs(facts: TaskFacts) -> Iterator[tuple[str, Install]]:
    for where, command in _commands(facts):
        for install in installs_of(command):
            yield where, install
            text = facts.base.text(install.file.removeprefix("./")) if install.file else None
            for one in requirements_in(text or ""):
                yield install.file, one


def _commands(facts: TaskFacts) -> Iterator[tuple[str, str]]:
    """Every command that may have a network: those of set-up, and of a Dockerfile."""
    setup = facts.task.setup
    if setup.network:
        for number, command in enumerate(setup.commands):
            yield f"{_TASK_FILE}: setup.commands[{number}]", command
    file = facts.task.environment.dockerfile
    if file is not None:
        for command in re.findall(
            r"(?mi)^[ \t]*RUN[ \t]+(.*)$", _text_of(file).replace("\\\n", " ")
        ):
            yield file.name, command


def _text_of(path: Path) -> str:
    with path.open("rb") as source:
        return source.read(_LARGEST).decode("utf-8", "replace").replace("\r\n", "\n")


def _is_upstream(url: str, facts: TaskFacts, names: frozenset[str]) -> bool:
    """Whether a URL leads to the project, by its last part or as the task's own origin."""
    if not url:
        return False
    plain = re.sub(r"(\.git)?([@#].*)?/?$", "", url.removeprefix("git+"))
    own = (facts.task.source.url or "").removesuffix("/").removesuffix(".git")
    return plain == own or normalised(plain.rpartition("/")[2]) in names
