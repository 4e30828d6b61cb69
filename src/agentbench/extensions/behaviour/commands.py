"""Reads the shell commands of an agent: which files they read and edit, and which run tests.

Shell cannot be read exactly without running it. What is not understood counts as an ordinary
command, and a file that a command merely names counts as read: "never opened" must be certain.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class ActionKind(StrEnum):
    """What one part of a tool call does."""

    READ = "read"
    EDIT = "edit"
    REVERT = "revert"  # takes edits back: `git checkout`, `git stash`
    SEARCH = "search"
    TEST = "test"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPart:
    """A simple command of a shell line."""

    kind: ActionKind
    words: tuple[str, ...]
    paths: tuple[str, ...] = ()  # as written, joined to the folder of the last `cd`


_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_SEPARATORS = frozenset({";", "&&", "||", "|", "|&", "&", "(", ")", "{", "}", "\n", ";;"})
_KEYWORDS = frozenset({"then", "do", "else", "!", "if", "while", "until", "time", "elif"})
_WRAPPERS = frozenset({"sudo", "env", "nohup", "nice", "stdbuf", "command", "exec", "xargs", "uv",
                       "poetry", "pdm", "hatch", "pipenv", "rye", "run", "builtin"})  # fmt: skip
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_READERS = frozenset({"cat", "head", "tail", "less", "more", "nl", "bat", "batcat", "view", "od",
                      "xxd", "strings", "awk", "gawk", "cut", "diff", "sort", "vi", "vim", "nano",
                      "tac", "pygmentize", "source", "."})  # fmt: skip
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "ls", "tree",
                       "locate", "wc", "which", "du"})  # fmt: skip
_EDITORS = frozenset({"tee", "rm", "mv", "cp", "patch", "ed", "ex", "truncate", "dd", "touch",
                      "install", "ln", "mkdir", "unlink"})  # fmt: skip
_TEST_PROGRAMS = frozenset({"pytest", "py.test", "tox", "nox", "nosetests", "nose2", "trial",
                            "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "runtests.py",
                            "ava", "stestr", "green"})  # fmt: skip
_TEST_MODULES = frozenset({"pytest", "unittest", "nose", "nose2", "tox", "nox", "doctest", "trial"})
_TEST_COMMANDS = (
    ("go", "test"), ("cargo", "test"), ("cargo", "nextest"), ("npm", "test"), ("npm", "t"),
    ("yarn", "test"), ("pnpm", "test"), ("mvn", "test"), ("gradle", "test"), ("make", "test"),
    ("make", "tests"), ("make", "check"), ("node", "--test"), ("mix", "test"), ("swift", "test"),
    ("dotnet", "test"), ("bun", "test"), ("deno", "test"), ("rake", "test"), ("invoke", "test"),
    ("./gradlew", "test"), ("just", "test"),
)  # fmt: skip
_NO_TEST_RUN = frozenset({"--collect-only", "--co", "--version", "--help", "-h", "--fixtures"})
_TEST_SCRIPT = re.compile(r"(^|/)(test_\w+|\w+_test|runtests|run_tests?|tests?)\.(py|sh|js)$")
_PYTHON = re.compile(r"(^|/)(python[\d.]*|pypy[\d.]*|ipython)$")
_WRITES = re.compile(
    r"""\.write_(text|bytes)\(|\bopen\([^)]*,\s*(mode=)?['"][wax+]|shutil\.(copy|move)|os\.(rename|
    replace|remove)|\.unlink\(""",
    re.VERBOSE,
)
_RUNS_TESTS_IN_PYTHON = re.compile(r"\b(?:pytest|unittest)\.main\(|\bdoctest\.test(?:mod|file)\(")
_TEXT_LITERAL = re.compile(r"""(['"])([^'"\n]{1,300})\1""")
_LOOKS_LIKE_A_PATH = re.compile(r"^[\w./@+~*?\[\]{}-]*(/|\.\w{1,5}$)[\w./@+*?\[\]{},-]*$")
_REDIRECT = re.compile(r"^\d?>>?\|?$|^&>>?$")
_PATCHED_FILE = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |\+\+\+ |--- |diff --git a/)"
    r"(?:[ab]/)?([^\t\n]+?)(?: b/.*)?$",
    re.MULTILINE,
)
_NULL = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout"})
_MakePart = Callable[..., CommandPart]  # of a kind and its paths
_MAX_COMMAND = 100_000  # characters; the rest of a longer one is mostly data


def command_parts(line: str, folder: str = "") -> Iterator[CommandPart]:
    """The simple commands of a shell line, in order.

    Args:
        line: The line, which may have several lines and here documents.
        folder: The folder that it starts in, if it is known.
    """
    text, documents = _without_documents(line[:_MAX_COMMAND])
    for words in _simple_commands(text):
        words = _unwrapped(words)
        if not words:
            continue
        if words[0] == "cd":
            target = next((word for word in words[1:] if not word.startswith("-")), "")
            folder = posixpath.join(folder, target)
        elif posixpath.basename(words[0]) in _SHELLS and (script := _script(words, documents)):
            yield from command_parts(script, folder)
        else:
            yield _part(words, documents, folder)


def patched_files(text: str) -> tuple[str, ...]:
    """The files that a patch names, in git's form or in that of `apply_patch`."""
    found = dict.fromkeys(match.strip() for match in _PATCHED_FILE.findall(text))
    return tuple(name for name in found if name not in _NULL)


def _without_documents(line: str) -> tuple[str, dict[str, str]]:
    """The line without the texts of its here documents, and these texts by their placeholders."""
    documents: dict[str, str] = {}
    kept: list[str] = []
    rows = iter(line.split("\n"))
    for row in rows:
        ends = [match.group(2) for match in _HERE_DOCUMENT.finditer(row)]
        for end in ends:
            body = []
            for inner in rows:
                if inner.strip() == end:
                    break
                body.append(inner)
            name = f"here-document-{len(documents)}"
            documents[name] = "\n".join(body)
            row = _HERE_DOCUMENT.sub(f" {name} ", row, count=1)
        kept.append(row)
    return "\n".join(kept), documents


def _simple_commands(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        tokens = list(lexer)
    except ValueError:  # a quotation without its end
        tokens = text.replace("\n", " \n ").split(" ")
    for token in tokens:
        if token in _SEPARATORS or (token and set(token) <= set(";&|()\n")):
            yield words
            words = []
        elif token:
            words.append(token)
    yield words


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on: without variables, keywords and programs that start it."""
    at = 0
    while at < len(words):
        word = words[at]
        if re.match(r"^\w+=", word) or word in _KEYWORDS or posixpath.basename(word) in _WRAPPERS:
            at += 1
        elif word == "timeout":
            at += 1
            while at < len(words) and (words[at].startswith("-") or words[at][:1].isdigit()):
                at += 1
        elif at and words[at - 1] in _WRAPPERS and word.startswith("-"):
            at += 1
        else:
            break
    return words[at:]


def _script(words: Sequence[str], documents: Mapping[str, str]) -> str:
    """The text that a shell or Python runs by its option `-c`, or reads from a here document."""
    for option, script in pairwise(words):
        if re.match(r"^-\w*c$", option):
            return script
    return "\n".join(documents[word] for word in words if word in documents)


def _part(words: list[str], documents: dict[str, str], folder: str) -> CommandPart:
    program = posixpath.basename(words[0])
    document = "\n".join(documents[word] for word in words if word in documents)
    words = [word for word in words if word not in documents]
    written = [
        target
        for redirect, target in pairwise(words)
        if _REDIRECT.match(redirect) and target not in _NULL and not target.startswith("&")
    ]
    named = [word for word in words[1:] if _LOOKS_LIKE_A_PATH.match(word)]

    def part(kind: ActionKind, *paths: str) -> CommandPart:
        joined = (posixpath.normpath(posixpath.join(folder, path)) for path in paths)
        return CommandPart(kind=kind, words=tuple(words), paths=tuple(dict.fromkeys(joined)))

    if _runs_tests(words):
        return part(ActionKind.TEST, *named)
    if program == "git" and len(words) > 1:
        return _git_part(words, named, document, part)
    is_in_place = any(re.match(r"^-\w*i|^--in-place", word) for word in words[1:])
    if program in {"sed", "perl", "ruby", "gawk"} and is_in_place:
        return part(ActionKind.EDIT, *_files_of_sed(words))
    if program in {"apply_patch", "applypatch"}:
        return part(ActionKind.EDIT, *patched_files("\n".join((*words[1:], document))))
    if program == "patch":
        return part(ActionKind.EDIT, *named, *patched_files(document))
    if _PYTHON.search(words[0]):
        code = "\n".join((document, _script(words, {})))
        literals = [text for _, text in _TEXT_LITERAL.findall(code)]
        paths = [text for text in literals if _LOOKS_LIKE_A_PATH.match(text)]
        if _RUNS_TESTS_IN_PYTHON.search(code):
            return part(ActionKind.TEST, *paths)
        if written or _WRITES.search(code):
            return part(ActionKind.EDIT, *written, *paths)
        return part(ActionKind.READ if paths else ActionKind.OTHER, *paths)
    if written:
        return part(ActionKind.EDIT, *written)
    if program in _EDITORS:
        return part(ActionKind.EDIT, *named)
    if program == "find" and "-exec" in words:
        executed = _part(words[words.index("-exec") + 1 :], {}, folder)
        names = (name for option, name in pairwise(words) if option in {"-name", "-path"})
        return part(executed.kind, *names)
    if program in _SEARCHES:
        # A search in one file shows that file; its size and date do not.
        is_reading = program.endswith("grep") or program in {"rg", "ag", "ack"}
        files = [word for word in named if "." in posixpath.basename(word).strip(".")]
        return part(ActionKind.SEARCH, *(files if is_reading else ()))
    if program == "sed":
        return part(ActionKind.READ, *_files_of_sed(words))
    if program in _READERS:
        return part(ActionKind.READ, *(word for word in words[1:] if not word.startswith("-")))
    return part(ActionKind.READ if named else ActionKind.OTHER, *named)


def _files_of_sed(words: Sequence[str]) -> list[str]:
    """The files of sed or perl: the first word is the script, if no option gives one."""
    has_script = any(re.match(r"^-\w*[ef]$|^--(expression|file)", word) for word in words[1:])
    given = [word for before, word in pairwise(words) if not word.startswith("-")
             and not re.match(r"^-\w*[ef]$", before)]  # fmt: skip
    return given if has_script else given[1:]


def _git_part(words: list[str], named: list[str], document: str, part: _MakePart) -> CommandPart:
    options = {*words[2:]}
    match words[1]:
        case "stash" if options & {"pop", "apply"}:
            return part(ActionKind.EDIT)
        case "stash" if options & {"list", "show", "drop", "clear"}:
            return part(ActionKind.OTHER)
        # Without these options only the index changes, and no file.
        case "reset" if options.isdisjoint({"--hard", "--merge", "--keep"}):
            return part(ActionKind.OTHER)
        case "restore" if options & {"--staged", "-S"} and options.isdisjoint({"--worktree", "-W"}):
            return part(ActionKind.OTHER)
        case "checkout" | "restore" | "stash" | "reset" | "revert" if words[2:3] != ["-b"]:
            return part(ActionKind.REVERT, *named)
        case "apply" | "am" | "mv" | "rm" | "clean":
            return part(ActionKind.EDIT, *named, *patched_files(document))
        # Without a patch, a log shows nothing of a file.
        case "log" if options.isdisjoint({"-p", "-u", "--patch", "-L", "-c", "--cc"}):
            return part(ActionKind.OTHER)
        case "show" | "diff" | "blame" | "log":
            paths = [word.rpartition(":")[2] for word in words[2:] if not word.startswith("-")]
            return part(ActionKind.READ, *paths)
        case _:
            return part(ActionKind.SEARCH if words[1] == "grep" else ActionKind.OTHER)


def _runs_tests(words: Sequence[str]) -> bool:
    if not _NO_TEST_RUN.isdisjoint(words):
        return False
    program = posixpath.basename(words[0])
    if program in {"npx", "pnpx", "bunx", "yarn", "pnpm"} and len(words) > 1:
        program = posixpath.basename(words[1])
    if program in _TEST_PROGRAMS or _TEST_SCRIPT.search(words[0]):
        return True
    if any((program, word) in _TEST_COMMANDS for word in words[1:3]):
        return True
    if (program, *words[1:3]) in {("npm", "run", "test"), ("yarn", "run", "test")}:
        return True
    if _PYTHON.search(words[0]):
        for option, module in pairwise(words[1:]):
            if option == "-m":
                return module.partition(".")[0] in _TEST_MODULES
        scripts = [word for word in words[1:] if not word.startswith("-")]
        first = scripts[0] if scripts else ""
        is_manage = posixpath.basename(first) in {"manage.py", "setup.py"} and "test" in scripts[1:]
        return bool(_TEST_SCRIPT.search(first)) or is_manage
    return False
