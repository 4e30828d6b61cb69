import json

import pytest

from agentbench.extensions.swebench.dialects import (
    apt_packages,
    commands_of,
    foreign_suffixes,
    instance_row,
    names_of,
    patch_text,
    text_of,
)

NAMES = ("a/test_b.py::x", "a/test_b.py::C::y")
GIT = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    "value",
    [
        list(NAMES),
        NAMES,
        [*NAMES, NAMES[0]],
        json.dumps(NAMES),
        repr(list(NAMES)),
        repr(NAMES).replace("(", "[").replace(")", "]"),
        ", ".join(NAMES),
        "\n".join(NAMES),
        {"a/test_b.py": ["x", "C::y"]},
        {"a/test_b.py": list(NAMES)},
        json.dumps({"a/test_b.py": ["x", "C::y"]}),
    ],
)
def test_names_of_tests_have_several_forms(value):
    assert names_of(value) == NAMES


@pytest.mark.parametrize("value", [None, [], "", " ", "[]", {}, "null"])
def test_no_names_are_an_empty_list(value):
    assert names_of(value) == ()


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "a.py::x[1, 2], a.py::y",
        "a.py::x with b.py::y",
        "[__import__('os')]",
        "['a.py::x'",
        "[{[]: 1}]",
        "[" * 100_000,
        "7",
        7,
        True,
        {"a.py": "x"},
        {"suite": ["x"]},
        {3: ["x"]},
    ],
)
def test_ambiguous_names_are_refused(value):
    with pytest.raises(ValueError, match=r"is not JSON|expected a list|expected lists"):
        names_of(value)


def test_names_that_are_no_texts_are_left_to_the_check_of_each():
    assert names_of([1, None, [2]]) == (1, None, [2])


@pytest.mark.parametrize(
    ("value", "commands"),
    [
        (None, ()),
        ("", ()),
        ("make", ("make",)),
        ('["a", "b"]', ["a", "b"]),
        (["a"], ["a"]),
        (7, 7),
    ],
)
def test_one_command_is_a_list_of_one(value, commands):
    assert commands_of(value) == commands


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (1, "1"), (0.3, "0.3"), ("x", "x"), (True, True), ([], [])]
)
def test_numbers_are_texts(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("patch", "read"), [("a\r\nb\r\n", "a\nb\n"), ("a\r\nb\n", "a\r\nb\n"), ("a\n", "a\n")]
)
def test_only_a_patch_that_was_converted_as_a_whole_is_converted_back(patch, read):
    assert patch_text(patch) == read


@pytest.mark.parametrize("wrap", [json.dumps, lambda value: value])
def test_an_instance_that_nemo_gym_wraps_is_found(wrap):
    inner = {"instance_id": "a-1"}
    row = {"responses_create_params": wrap({"metadata": wrap({"instance_dict": wrap(inner)})})}
    assert instance_row(row) == inner


@pytest.mark.parametrize("row", [{}, {"patch": ""}, {"responses_create_params": "["}])
def test_another_row_is_left_as_it_is(row):
    assert instance_row(row) is row


@pytest.mark.parametrize(
    ("files", "names", "suffixes"),
    [
        (("a.js", "b.ts"), [], [".js", ".ts"]),
        (("a.go", "b.go"), '["TestX"]', [".go"]),
        (("a.pyx", "b.txt"), [], []),
        (("a.cfg", "b.txt"), ["t.py::x"], []),
        (("a.js", "b.py"), [], []),
    ],
)
def test_a_language_shows_in_the_files_of_a_row_that_names_none(files, names, suffixes):
    row = {"patch": GIT.format(files[0]), "test_patch": GIT.format(files[1]), "FAIL_TO_PASS": names}
    assert foreign_suffixes(row) == suffixes


@pytest.mark.parametrize(
    ("command", "packages", "rest"),
    [
        ("apt-get update", (), ()),
        ("sudo apt install --yes a b", ("a", "b"), ()),
        ("apt-get update && apt-get install -y a && rm -rf /var/lib/apt/lists/*", ("a",), ()),
        ("cd x && apt-get install a && make", ("a",), ("cd x && make",)),
        ("make apt", (), ("make apt",)),
    ],
)
def test_packages_of_debian_go_into_the_image(command, packages, rest):
    assert apt_packages([command]) == (packages, rest)
