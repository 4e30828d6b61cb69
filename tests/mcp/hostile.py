"""Calls that nobody should make: malformed, hostile and random, to be refused before pytest."""

import random

_TOOLS = ("execute_tests", "discover_tests")
_OUTSIDE = (
    "../../etc",
    "../../../etc/passwd",
    "tests/../../../etc/passwd",
    "/etc/passwd",
    "/",
    "~/../../etc",
    "link",
    "link/passwd",
    "chain/passwd",
    "./link/../../etc",
    "tests/./../..",
    "link[x]",
    "..",
    "//etc//passwd",
    "/proc/self/environ",
    "tests/\u2024\u2024/x",  # one-dot leaders: no dots, and no such file either
    "\uff0e\uff0e/\uff0e\uff0e/etc",
    "%2e%2e/%2e%2e/etc",
    "..\\..\\etc",
    "tests/test_ok.py/../../../etc",
)
_OPTIONS = (
    "-p evil",
    "-pevil",
    "--collect-only",
    "-c/etc/passwd",
    "--rootdir=/",
    "--basetemp=/",
    "-o python_files=*",
    "@/etc/passwd",
    "--",
    "-",
)
_INVISIBLE = (
    "tests\x00/../../etc",
    "a\nb",
    "a\rb",
    "\x1b[2Jtests",
    "tests\u202egnp.py",
    "te\u200bsts",
    "\ufefftests",
    "a\u2028b",
    "tests\x7f",
    "a\u00adb",
    "\ue000",
)
_VALUES = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    [],
    [[]],
    {},
    {"a": 1},
    [1],
    [None],
    "\U0001f600",
)


def layout(root):
    """The project that the calls aim at: one test that leaves a mark when it is run."""
    (root / "tests").mkdir()
    mark = f"import pathlib\npathlib.Path({str(root / 'ran')!r}).touch()\n"
    (root / "tests" / "test_ok.py").write_text(f"{mark}def test_ok(): pass\n")
    (root / "link").symlink_to("/etc")
    (root / "chain").symlink_to("link")
    return root


def calls(seed=20261122, count=300):
    """So many pairs of a tool and its arguments, none of which pytest may see."""
    made = [*_with_paths(), *_with_expressions(), *_with_wrong_types(), *_too_long()]
    rng = random.Random(seed)
    while len(made) < count:
        made.append((rng.choice(_TOOLS), _random_arguments(rng)))
    return made[:count]


def _with_paths():
    for path in (*_OUTSIDE, *_OPTIONS, *_INVISIBLE):
        yield "execute_tests", {"paths": ["tests", path]}
        yield "discover_tests", {"paths": [path]}
        yield "execute_tests", {"node_ids": [f"{path}::test_ok"]}


def _with_expressions():
    for text in (*_OPTIONS, *_INVISIBLE):
        yield "execute_tests", {"keyword": text}
        yield "discover_tests", {"markers": text}


def _with_wrong_types():
    names = ("timeout_s", "max_failures", "last_failed", "detail", "paths", "node_ids")
    for name in names:
        for value in ({"a": 1}, [[]], "\u0661\u0662", -1, 1.5, 10**400, {"__class__": "x"}):
            yield "execute_tests", {name: value}
    yield "execute_tests", {"paths": ["tests"], "node_ids": ["tests/test_ok.py"]}
    yield "explain_failure", {}
    yield "explain_failure", {"exit_code": 1, "reason": "TIMEOUT"}
    yield "explain_failure", {"reason": "__class__"}
    yield "explain_failure", {"exit_code": 1, "stage": "../../etc"}


def _too_long():
    huge = "x" * 10_000_000
    yield "execute_tests", {"paths": [huge]}
    yield "execute_tests", {"keyword": huge}
    yield "discover_tests", {huge: 1}
    yield "explain_failure", {"reason": huge}
    yield "execute_tests", {"node_ids": ["tests"] * 100_000}
    yield "execute_tests", {"paths": ["a/" * 2000]}
    yield "execute_tests", {f"name{number}": number for number in range(5000)}


def _random_arguments(rng):
    """At least one argument that does not exist, beside others of random types."""
    made = {"".join(chr(rng.randrange(32, 0x2FFF)) for _ in range(rng.randrange(1, 80))): 1}
    for name in rng.sample(("paths", "keyword", "markers", "timeout_s", "cwd", "env"), 3):
        made[name] = rng.choice(_VALUES)
    return made
