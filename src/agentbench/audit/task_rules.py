"""Rules about a task: which answers an agent can read, and what its tests leave unchecked."""

import ast
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import ip_network
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from agentbench.audit.base_tree import project_names
from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import DecidingTestFile, LeakFingerprint, TaskFacts, found_in
from agentbench.core.display_text import list_with_more
from agentbench.errors import InputError
from agentbench.integrity.languages import language_of
from agentbench.scoring.evidence import Severity
from agentbench.tasks.scripts import Verifier
from agentbench.tasks.task import Task
from agentbench.tasks.users import ROOT_USER, UserName

_BACKUP_SUFFIXES = frozenset({".orig", ".rej", ".patch", ".diff", ".bak", ".old", ".save", ".swp"})
_BUILD_FOLDERS = frozenset({"build", "dist", "site-packages", "htmlcov", ".tox", ".nox", ".eggs"})
_PATCH_SUFFIXES = frozenset({".patch", ".diff", ".rej"})
_SDIST = re.compile(r"(.+?)-\d[^/]*\.(tar\.gz|tgz|tar\.bz2|tar\.xz|zip)")
_WHEEL = re.compile(r"(.+?)-\d[^/]*\.(whl|egg)")
_GIT_FILES = {".bundle": (b"# v", "bundle"), ".pack": (b"PACK", "packfile")}
# Bytes; any project has several empty files.
_LEAST_FILE = 40
# Files that contain a piece of text: then it is the style of the project.
_COMMON = 3
# Of the fix, in a file like any other: one long line may be a habit.
_DISTINCTIVE_SHARE = 0.2
_INSTRUCTION = "instruction.md"
_LEAST_ASSERTION = 24  # characters; `assert x == 1` may occur anywhere
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
_DOWNLOADERS = frozenset({"curl", "wget", "git"})
_MAX_NAMED = 5  # packages and URLs
_SECRET_WORDS = frozenset(
    {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
     "APIKEY", "AUTH"}
)  # fmt: skip
_SECRET_VALUES = re.compile(
    r"(sk|pk|rk)-[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}"
    r"|xox[abprs]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@]+:[^/\s@]+@"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")


def hidden_tests_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """A copy of a hidden test file in the base tree shows an agent what will be asked."""
    for file in facts.deciding_files:
        content = facts.hidden.get(PurePosixPath(file.path))
        if content is not None and any(file.deciding):
            for path in facts.base.equal_to(content.content):
                yield warning(path.as_posix(), f"has the content of the hidden {file.path}")


def visible_tests(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent can satisfy visible tests with answers that are made only for them."""
    listed = [(file, name) for file in facts.deciding_files for name in file.listed_functions]
    visible = [(file, name) for file, name in listed if file.is_visible(name)]
    # Some visible tests are usual: a fix may make a test pass that was there before.
    whole = len(visible) == len(listed)
    for file, name in visible:
        what = "is unchanged in the base tree; an agent can read the deciding test"
        if whole:
            what += ", and no fail_to_pass test is hidden"
        yield RuleHit(Severity.WARNING if whole else Severity.INFO, f"{file.path}::{name}", what)


def solution_in_instruction(facts: TaskFacts) -> Iterator[RuleHit]:
    """If an instruction quotes the fix, an agent only has to copy it."""
    fingerprints = facts.solution_fingerprints()
    found = found_in(_without_removed_lines(facts.task.problem.instruction), fingerprints)
    if found:
        what = f"contains {len(found)} of {len(fingerprints)} distinctive lines of the fix"
        yield warning(f"{_INSTRUCTION}:{min(found.values())}", what)


def solution_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent only has to find the fix in a file that a merge, an editor or a build left."""
    copies: set[PurePosixPath] = set()
    for changed, file in facts.fixed.items():
        if file is None or len(file.content.strip()) < _LEAST_FILE:
            continue
        for path in facts.base.equal_to(file.content):
            if path not in facts.fixed:
                copies.add(path)
                what = f"has the content of {changed.as_posix()} after the fix"
                yield warning(path.as_posix(), what)

    fingerprints = facts.solution_fingerprints()
    known = {*(PurePosixPath(file.path) for file in facts.solution), *copies}
    matches_by_path: dict[PurePosixPath, dict[LeakFingerprint, int]] = {}
    for path, text in facts.base.texts():
        searched = _without_removed_lines(text) if path.suffix in _PATCH_SUFFIXES else text
        found = found_in(searched, fingerprints) if path not in known else {}
        if found:
            matches_by_path[path] = found
    files = Counter(each for found in matches_by_path.values() for each in found)
    total = len(fingerprints)
    for path, found in matches_by_path.items():
        rare = {each: line for each, line in found.items() if files[each] <= _COMMON}
        kind = None
        if path.suffix in _PATCH_SUFFIXES:
            kind = "a patch"
        elif path.suffix in _BACKUP_SUFFIXES or path.name.endswith("~"):
            kind = "a backup copy"
        elif not _BUILD_FOLDERS.isdisjoint(path.parts):
            kind = "a build's output"
        if rare and (kind or len(rare) >= _DISTINCTIVE_SHARE * total):
            of = f"{len(rare)} of {total} distinctive lines of the fix"
            severity = Severity.WARNING if kind else Severity.INFO
            where = f"{path.as_posix()}:{min(rare.values())}"
            yield RuleHit(severity, where, f"{kind or 'another file'} with {of}")


def _without_removed_lines(text: str) -> str:
    """A text that may quote a diff, without the lines that the diff removes."""
    return re.sub(r"(?m)^[>| \t]*-.*$", "", text)


def built_copies_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """Byte-code, wheels and source archives of the project may have been built after the fix."""
    stems = {PurePosixPath(file.path).stem for file in facts.solution}
    names = project_names(facts.base)
    for path in facts.base.blobs:
        if path.suffix in {".pyc", ".pyo"}:
            own = not stems or path.name.partition(".")[0] in stems
        else:
            archive = _WHEEL.fullmatch(path.name) or _SDIST.fullmatch(path.name)
            eggs = [part for part in path.parts[:-1] if part.endswith(".egg")]
            built = [archive.group(1)] if archive else [egg.partition("-")[0] for egg in eggs[:1]]
            # A project that states no name may have built any archive.
            own = any(not names or canonicalize_name(name) in names for name in built)
        if own:
            yield warning(path.as_posix(), "may contain the fix: built from an unknown state")


def history_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """The workspace is one commit, but a repository among its files has its own history."""
    for where, file in facts.own_histories:
        what = f"its history holds {file} after the fix: remove it before you share the task"
        yield warning(where.as_posix(), what)
    folders = {folder for path in facts.base.blobs for folder in path.parents}
    for path in facts.base.blobs:
        magic, kind = _GIT_FILES.get(path.suffix, (b"", ""))
        content = facts.base.contents.get(path)
        if kind and (content is None or content.startswith(magic)):
            yield warning(path.as_posix(), f"a git {kind}: its history may contain the fix")
        elif path.name == "HEAD" and {path.with_name("objects"), path.with_name("refs")} <= folders:
            what = "a git repository among the files: its history may contain the fix"
            yield warning(path.parent.as_posix(), what)


def tests_in_instruction(facts: TaskFacts) -> Iterator[RuleHit]:
    """An instruction that names hidden tests or quotes their assertions gives answers away."""
    instruction = facts.task.problem.instruction
    for name in sorted(facts.hidden_names & set(re.findall(r"\w+", instruction))):
        yield warning(_INSTRUCTION, f"names the hidden test {name}")
    hidden = [file for file in facts.deciding_files if file.hidden]
    every = {text for file in hidden for text in assertions(file)}
    on_one_line = " ".join(instruction.split())
    quotes = sorted(text for text in every if text in on_one_line)
    if quotes:
        severity = Severity.WARNING if 2 * len(quotes) >= len(every) else Severity.INFO
        what = f"quotes {len(quotes)} of {len(every)} assertions of the hidden tests: {quotes[0]}"
        yield RuleHit(severity, _INSTRUCTION, what)


def assertions(file: DecidingTestFile) -> Iterator[str]:
    """The assertions of a file's deciding tests, each on one line as it is written."""
    # `ast.get_source_segment` would split the whole source again for each node.
    lines = re.split("\r\n|\r|\n", file.source)
    for _, function in file.deciding:
        for node in ast.walk(function.node):
            if not isinstance(node, ast.Assert | ast.Call):
                continue
            called = node.func if isinstance(node, ast.Call) else None
            by_call = isinstance(called, ast.Attribute) and called.attr.startswith("assert")
            if called is not None and not by_call:
                continue
            own = lines[node.lineno - 1 : node.end_lineno]
            own[-1] = own[-1].encode()[: node.end_col_offset].decode()
            own[0] = own[0].encode()[node.col_offset :].decode()
            text = " ".join(" ".join(own).split())
            if len(text) >= _LEAST_ASSERTION:
                yield text


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTarget:
    """What a command installs from elsewhere: a package of an index, a file of them, or a URL."""

    name: str = ""
    file: str = ""
    url: str = ""


def installs_of(command: str) -> Iterator[InstallTarget]:
    """The packages and files that a shell command installs with pip."""
    for words in _shell_commands(command):
        programs = [PurePosixPath(word).name for word in words]
        at = next((n for n, program in enumerate(programs) if _PIP.fullmatch(program)), None)
        if at is not None and "install" in words[at:]:
            arguments = words[words.index("install", at) + 1 :]
            if "--no-index" not in arguments:
                yield from _install_targets(arguments)


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
        # Options that end in -url take a value, whatever they are called.
        if option in _FILES | _EDITABLE | _VALUED or option.endswith("-url"):
            value = value if equals else next(waiting, "")
            if option in _FILES:
                yield InstallTarget(file=value)
            elif option in _EDITABLE and "://" in value:
                yield InstallTarget(url=value)
        elif word.startswith("-r") and len(word) > 2:
            yield InstallTarget(file=word[2:])
        elif not word.startswith("-"):
            yield from _target_of(word)


def _target_of(text: str) -> Iterator[InstallTarget]:
    if "://" in text or text.startswith("git+"):
        yield InstallTarget(url=text.rpartition(" @ ")[2])
        return
    # The checkout, or a file of it, brings no release of the project.
    is_local = text.startswith((".", "/", "~", "$")) or text.endswith((".whl", ".tar.gz", ".zip"))
    found = _REQUIREMENT.fullmatch(text)
    if not is_local and found is not None and not found.group(2).startswith("/"):
        yield InstallTarget(name=found.group(1))


def fixed_release_installed(facts: TaskFacts) -> Iterator[RuleHit]:
    """Set-up has a network, so a newer release with the fix could be in site-packages."""
    names = project_names(facts.base)
    own_url = (facts.task.source.url or "").removesuffix("/").removesuffix(".git")

    def is_upstream(url: str) -> bool:
        plain = re.sub(r"(\.git)?([@#].*)?/?$", "", url.removeprefix("git+"))
        own = plain == own_url or canonicalize_name(plain.rpartition("/")[2]) in names
        return bool(url) and own

    commands = list(_networked_commands(facts))
    installs: list[tuple[str, InstallTarget]] = []
    for where, command in commands:
        for install in installs_of(command):
            installs.append((where, install))
            if install.file:
                text = facts.base.text(install.file.removeprefix("./")) or ""
                installs += ((install.file, one) for one in _requirements_in(text))
    for where, install in installs:
        if install.name and canonicalize_name(install.name) in names:
            what = f"installs {install.name}, the project itself, from an index"
            yield warning(where, f"{what}: a fixed release may be installed")
        elif is_upstream(install.url):
            what = f"installs the project from {install.url}: a fixed state may be installed"
            yield warning(where, what)
    for where, command in commands:
        for words in _shell_commands(command):
            programs = {PurePosixPath(word).name for word in words}
            if "git" in programs and {"clone", "fetch", "pull", "remote"} & set(words):
                for url in words:
                    if ("://" in url or url.endswith(".git")) and is_upstream(url):
                        what = f"fetches {url}: the history of the project stays in the sandbox"
                        yield warning(where, what)


def _requirements_in(text: str) -> Iterator[InstallTarget]:
    for raw in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).partition(";")[0].strip()
        if line.startswith("-"):
            yield from _install_targets(line.split())
        elif line:
            yield from _target_of(line)


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


def _networked_commands(facts: TaskFacts) -> Iterator[tuple[str, str]]:
    """Every command that may have a network: those of set-up, and of a Dockerfile."""
    setup = facts.task.setup
    if setup.network:
        for name, commands in (("shared", setup.shared), ("commands", setup.commands)):
            for number, command in enumerate(commands):
                yield f"{_TASK_FILE}: setup.{name}[{number}]", command
    file = facts.task.environment.dockerfile
    if file is not None:
        # A Dockerfile can be written so that searching all of it takes hours.
        with file.open("rb") as source:
            content = source.read(_MAX_DOCKERFILE_BYTES)
        text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\\\n", " ")
        for command in re.findall(r"(?mi)^[ \t]*RUN[ \t]+(.*)$", text):
            yield file.name, command


def shared_verifiers(facts: TaskFacts) -> Iterator[RuleHit]:
    """A script in the agent's container depends on all that the agent changed or started there."""
    task = facts.task
    for where, verifier, user in _verifiers(task):
        if verifier.is_shared:
            what = "judges in the agent's own container"
            if user.partition(":")[0] in {"0", ROOT_USER}:
                what += ", where the agent is root and can replace the programs of the script"
            yield info(f"{_TASK_FILE}: {where}.environment", what)


def verifier_installs(facts: TaskFacts) -> Iterator[RuleHit]:
    """What a script downloads can change, so that the same work gets another verdict."""
    for where, verifier, _ in _verifiers(facts.task):
        step = where.removeprefix("steps.").removesuffix("verifier").strip(".")
        folders = (f"steps/{step}/tests", "tests") if step else ("tests",)
        scripts = [facts.task.folder / folder / "test.sh" for folder in folders]
        script = next((path for path in scripts if path.is_file()), None)
        if script is None or not verifier.network:
            continue
        with script.open("rb") as source:
            text = source.read(_MAX_DOCKERFILE_BYTES).decode("utf-8", "replace")
        # Line by line, since a quote in a here-document would not end.
        lines = text.replace("\r\n", "\n").replace("\\\n", " ").splitlines()
        commands = [line for line in lines if not line.lstrip().startswith("#")]
        names = {one.name or one.url or one.file for each in commands for one in installs_of(each)}
        names |= {
            f"{words[0]} {url}"
            for command in commands
            for words in _shell_commands(command)
            if words and PurePosixPath(words[0]).name in _DOWNLOADERS
            for url in words
            if re.match(r"https?://(?!localhost|127\.)", url)
        }
        if names:
            listed = list_with_more(sorted(names), _MAX_NAMED)
            what = f"the script of {where} installs or downloads when it judges: {listed}"
            yield info(script.relative_to(facts.task.folder).as_posix(), what)


def answers_in_image(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent can read tests or a solution that its image copies from the task's folder."""
    folder, dockerfile = facts.task.folder, facts.task.environment.dockerfile
    if dockerfile is None:
        return
    with dockerfile.open("rb") as source:
        text = source.read(_MAX_DOCKERFILE_BYTES).decode("utf-8", "replace")
    answers = {
        path.read_bytes(): path
        for pattern in ("tests/**/*", "solution/**/*", "*.patch")
        for path in sorted(folder.glob(pattern))
        if path.is_file() and not path.is_symlink()
    }
    copied = list(_copied_sources(text))
    for path in sorted(dockerfile.parent.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.stat().st_size < _LEAST_FILE:
            continue
        name = path.relative_to(dockerfile.parent).as_posix()
        is_copied = any(
            source in {"", "."} or fnmatchcase(name, source) or name.startswith(f"{source}/")
            for source in copied
        )
        if is_copied and (answer := answers.get(path.read_bytes())) is not None:
            where = path.relative_to(folder).as_posix()
            answer_name = answer.relative_to(folder).as_posix()
            what = f"is copied into the agent's image and has the content of {answer_name}"
            yield warning(where, what)


def _verifiers(task: Task) -> Iterator[tuple[str, Verifier, UserName]]:
    """Each script with the name of its table, and the user of the agent before it."""
    for step in task.steps:
        yield f"steps.{step.name}.verifier", step.verifier, step.user
    if not task.steps and task.answer_key.verifier is not None:
        yield "verifier", task.answer_key.verifier, task.environment.user


def _copied_sources(dockerfile: str) -> Iterator[str]:
    """What `COPY` and `ADD` take from the context, without a slash or a dot at the start."""
    joined = dockerfile.replace("\r\n", "\n").replace("\\\n", " ")
    for line in re.findall(r"(?mi)^[ \t]*(?:COPY|ADD)[ \t]+(.*)$", joined):
        if "--from=" in line:
            continue
        words = re.findall(r"[^\s\[\]\",]+", line)
        sources = [word for word in words if not word.startswith("--")][:-1]
        yield from (source.removeprefix("./").strip("/") for source in sources)


def no_regression_tests(facts: TaskFacts) -> Iterator[RuleHit]:
    """Without them, a fix that breaks everything that no hidden test checks is resolved."""
    key = facts.task.answer_key
    if key.fail_to_pass and not key.pass_to_pass:
        what = "lists no regression tests: a fix that breaks all other code counts as resolved"
        yield warning(f"{_TASK_FILE}: tests.pass_to_pass", what)


def weakly_controlled(facts: TaskFacts) -> Iterator[RuleHit]:
    """Control runs change what a test expects; they show less for a test without one."""
    controlled = controlled_functions(facts)
    share = f"{sum(why is None for why in controlled.values())} of {len(controlled)}"
    for where, why in controlled.items():
        if why is not None:
            what = f"weakly controlled: {why}; {share} fail_to_pass functions are controlled"
            yield warning(where, what)


def not_read(facts: TaskFacts) -> Iterator[RuleHit]:
    """Unreadable content was not audited, so a lack of findings about it proves nothing."""
    for why in facts.unread:
        yield info("the base tree", why)


def controlled_functions(facts: TaskFacts) -> Mapping[str, str | None]:
    """Every fail_to_pass function, and why nothing in it can be changed; else `None`."""
    reasons: dict[str, str | None] = {}
    for file in facts.deciding_files:
        if not file.listed:
            continue
        try:
            language = language_of(file.path)
            known = language.uncontrolled_reasons(file.source, file.path, file.listed)
            reasons |= {f"{file.path}::{name}": why for name, why in known.items()}
        except InputError as error:
            for name in file.listed_functions:
                reasons[f"{file.path}::{name}"] = error.faults[0].removeprefix(f"{file.path}: ")
    return reasons
