"""Rules about a task's environment: the installations in the text of its set-up commands."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from agentbench.audit.base_tree import project_names
from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import TaskFacts

_PIP = re.compile(r"pip[\d.]*")
_VALUED = frozenset(
    {"-i", "-f", "--find-links", "-t", "--target", "--prefix",
     "--root", "--python", "-c", "--constraint", "--platform", "--python-version", "--cache-dir",
     "--progress-bar", "--timeout", "--upgrade-strategy", "--proxy", "--cert", "--trusted-host",
     "--no-binary", "--only-binary", "--config-settings", "--log", "--src", "--report"}
)  # fmt: skip
_FILES = frozenset({"-r", "--requirement"})
_EDITABLE = frozenset({"-e", "--editable"})
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_OPERATORS = re.compile(r"[;&|()\n]+")
_TASK_FILE = "task.toml"
_MAX_DOCKERFILE_BYTES = 1024 * 1024
_SECRET_WORDS = frozenset(
    {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
     "APIKEY", "AUTH"}
)  # fmt: skip
_SECRET_VALUES = re.compile(
    r"(sk|pk|rk)-[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}"
    r"|xox[abprs]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@]+:[^/\s@]+@"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTarget:
    """One thing that a command installs."""

    name: str = ""  # of a package in an index
    pinned: bool = False
    file: str = ""  # of requirements
    url: str = ""
    local: bool = False  # the checkout, or a file


def installs_of(command: str) -> Iterator[InstallTarget]:
    """The packages and files that a shell command installs with pip."""
    for words in _shell_commands(command):
        at = next((n for n, word in enumerate(words) if _PIP.fullmatch(_program(word))), None)
        if at is not None and "install" in words[at:]:
            arguments = words[words.index("install", at) + 1 :]
            if "--no-index" not in arguments:
                yield from _install_targets(arguments)


def clones_of(command: str) -> Iterator[str]:
    """The URLs that a shell command clones or fetches with git."""
    for words in _shell_commands(command):
        if "git" in map(_program, words) and {"clone", "fetch", "pull", "remote"} & set(words):
            yield from (word for word in words if "://" in word or word.endswith(".git"))


def requirements_in(text: str) -> Iterator[InstallTarget]:
    """The entries of a requirements file."""
    for raw in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).partition(";")[0].strip()
        words = line.split()
        if words and words[0].startswith("-"):
            yield from _install_targets(words)
        elif line:
            yield _target_of(line)


def _program(word: str) -> str:
    return PurePosixPath(word).name


def _shell_commands(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.whitespace = " \t\r"
    try:
        words = list(lexer)
    except ValueError:  # a quote that does not end
        words = text.split()
    command: list[str] = []
    for word in words:
        if _OPERATORS.fullmatch(word):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _install_targets(words: list[str]) -> Iterator[InstallTarget]:
    waiting = iter(words)
    for word in waiting:
        option, equals, value = word.partition("=")
        if option in _FILES | _EDITABLE | _VALUED or option.endswith("-url"):
            value = value if equals else next(waiting, "")
            if option in _FILES:
                yield InstallTarget(file=value)
            elif option in _EDITABLE:
                yield InstallTarget(url=value) if "://" in value else InstallTarget(local=True)
        elif word.startswith("-r") and len(word) > 2:
            yield InstallTarget(file=word[2:])
        elif not word.startswith("-"):
            yield _target_of(word)


def _target_of(text: str) -> InstallTarget:
    if "://" in text or text.startswith("git+"):
        return InstallTarget(url=text.rpartition(" @ ")[2])
    if text.startswith((".", "/", "~", "$")) or text.endswith((".whl", ".tar.gz", ".zip")):
        return InstallTarget(local=True)
    found = _REQUIREMENT.fullmatch(text)
    if found is None or found.group(2).startswith("/"):
        return InstallTarget(local=True)
    return InstallTarget(name=found.group(1), pinned=found.group(2).startswith("=="))


def fixed_release_installed(facts: TaskFacts) -> Iterator[RuleHit]:
    """Set-up has a network, so a newer release with the fix could be in site-packages."""
    names = project_names(facts.base)
    for where, install in _installs(facts):
        if install.name and canonicalize_name(install.name) in names:
            what = f"installs {install.name}, the project itself, from an index"
            yield warning(where, f"{what}: a fixed release may be installed")
        elif _is_upstream(install.url, facts, names):
            what = f"installs the project from {install.url}: a fixed state may be installed"
            yield warning(where, what)
    for where, command in _networked_commands(facts):
        for url in clones_of(command):
            if _is_upstream(url, facts, names):
                what = f"fetches {url}: the history of the project stays in the sandbox"
                yield warning(where, what)


def unpinned_installs(facts: TaskFacts) -> Iterator[RuleHit]:
    """Unpinned packages change over time, and may install a fixed release of the project."""
    names = project_names(facts.base)
    installs = list(_installs(facts))
    loose = {
        install.name: where
        for where, install in installs
        if install.name and not install.pinned and canonicalize_name(install.name) not in names
    }
    if not loose:
        return
    what = f"not pinned with ==: {', '.join(sorted(loose))}"
    if not any(install.local for _, install in installs):
        what += "; the checkout is not installed, so one of these may install a release of it"
    yield info(next(iter(loose.values())), what)


def secrets_in_environment(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent reads its environment, and a record may quote it: a secret there is exposed."""
    for name, value in facts.task.environment.env.items():
        where = f"{_TASK_FILE}: environment.env.{name}"
        if value and not _SECRET_WORDS.isdisjoint(word.upper() for word in _WORDS.findall(name)):
            yield warning(where, "has a name like a secret's; the agent can read it")
        elif _SECRET_VALUES.search(value):
            yield warning(where, "looks like a secret; the agent can read it")
    for where, command in _networked_commands(facts):
        if _SECRET_VALUES.search(command):
            yield warning(where, "contains text that looks like a secret")


def own_networks_listed(facts: TaskFacts) -> Iterator[RuleHit]:
    """A list of hosts can open services of this machine, or of its networks, to an agent."""
    task, verifier = facts.task, facts.task.answer_key.verifier
    networks = {
        "setup": task.setup.network,
        "environment": task.environment.network,
        "agent": task.problem.network,
        "verifier": False if verifier is None else verifier.network,
    }
    if networks["agent"] == networks["environment"]:
        del networks["agent"]
    for table, network in networks.items():
        for host in () if isinstance(network, bool) else network:
            with suppress(ValueError):  # a name
                if not ip_network(host).is_global:
                    what = f"lists {host}, which may be of this machine or of its networks"
                    yield warning(f"{_TASK_FILE}: {table}.network", what)


def _installs(facts: TaskFacts) -> Iterator[tuple[str, InstallTarget]]:
    for where, command in _networked_commands(facts):
        for install in installs_of(command):
            yield where, install
            text = facts.base.text(install.file.removeprefix("./")) if install.file else None
            for one in requirements_in(text or ""):
                yield install.file, one


def _networked_commands(facts: TaskFacts) -> Iterator[tuple[str, str]]:
    """Every command that may have a network: those of set-up, and of a Dockerfile."""
    setup = facts.task.setup
    if setup.network:
        for name, commands in (("shared", setup.shared), ("commands", setup.commands)):
            for number, command in enumerate(commands):
                yield f"{_TASK_FILE}: setup.{name}[{number}]", command
    file = facts.task.environment.dockerfile
    if file is not None:
        for command in re.findall(
            r"(?mi)^[ \t]*RUN[ \t]+(.*)$", _text_of(file).replace("\\\n", " ")
        ):
            yield file.name, command


def _text_of(path: Path) -> str:
    with path.open("rb") as source:
        return source.read(_MAX_DOCKERFILE_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")


def _is_upstream(url: str, facts: TaskFacts, names: frozenset[str]) -> bool:
    """Whether a URL leads to the project, by its last part or as the task's own origin."""
    if not url:
        return False
    plain = re.sub(r"(\.git)?([@#].*)?/?$", "", url.removeprefix("git+"))
    own = (facts.task.source.url or "").removesuffix("/").removesuffix(".git")
    return plain == own or canonicalize_name(plain.rpartition("/")[2]) in names
