import pytest

from agentbench.test_runs.fallback import collection_fact

ROOT = "/workspace"
FRAMES = """\
../opt/venv/lib/python3.11/site-packages/_pytest/python.py:498: in importtestmodule
    mod = import_path(
tests/test_m.py:1: in <module>
    import model
"""
NATIVE = """\
Traceback (most recent call last):
  File "/workspace/conftest.py", line 1, in <module>
    import model
  File "/workspace/pkg/model.py", line 7, in <module>
    y = undefined_name
        ^^^^^^^^^^^^^^
NameError: name 'undefined_name' is not defined
"""


@pytest.mark.parametrize(
    ("message", "traceback", "told"),
    [
        (
            "SyntaxError: invalid syntax",
            f'{FRAMES}E     File "/workspace/model.py", line 42\n'
            "E       def total(:\nE                 ^\nE   SyntaxError: invalid syntax",
            ("SyntaxError", "model.py", 42, "invalid syntax"),
        ),
        (
            "ModuleNotFoundError: No module named 'nope'",
            f"{FRAMES}model.py:2: in <module>\n    import nope\n"
            "E   ModuleNotFoundError: No module named 'nope'",
            ("ModuleNotFoundError", "model.py", 2, "No module named 'nope'"),
        ),
        (
            "ImportError: cannot import name 'gone' from 'model' (/workspace/model.py)",
            f"{FRAMES}E   ImportError: cannot import name 'gone' (/workspace/model.py)",
            ("ImportError", "tests/test_m.py", 1, "cannot import name 'gone' (model.py)"),
        ),
        (
            "NameError: name 'undefined_name' is not defined",
            NATIVE,
            ("NameError", "pkg/model.py", 7, "name 'undefined_name' is not defined"),
        ),
        (
            "SyntaxError: '(' was never closed (model.py, line 3)",
            'File "/workspace/model.py", line 3\n    x = (\n        ^\n'
            "SyntaxError: '(' was never closed",
            ("SyntaxError", "model.py", 3, "'(' was never closed"),
        ),
        (
            "KeyError: 'x'",  # as --tb=no leaves it
            "\n/workspace/model.py:4: ",
            ("KeyError", "model.py", 4, "'x'"),
        ),
        (
            "odd.OwnError",
            "/usr/lib/python3.11/json/decoder.py:355: OwnError\n../elsewhere.py:2: in <module>",
            ("OwnError", "", None, ""),
        ),
        ("", "", ("", "", None, "")),
        ("no exception at all", "nothing:\nof:1:use", ("", "", None, "no exception at all")),
    ],
)  # fmt: skip
def test_the_projects_last_line_in_a_traceback_is_to_blame(message, traceback, told):
    fact = collection_fact("tests/test_m.py", message, traceback, ROOT)
    assert fact.file == "tests/test_m.py"
    assert (fact.error, fact.path, fact.line, fact.message) == told


def test_what_code_under_test_writes_is_bounded():
    fact = collection_fact("t.py", "E" * 10_000 + ": " + "m" * 10_000, "a:1: \n" * 100_000, "")
    assert max(map(len, (fact.error, fact.path, fact.message))) < 400
