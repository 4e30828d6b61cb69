"""The command of cargo test, its lines, and the files that steer it; `e2e` runs it."""

from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of

BASE_TOML = b"""[package]
name = "demo"
version = "0.1.0"
[dev-dependencies]
asserts = "1"
"""
OUTPUT = """\
     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)

running 1 test
test tests::a ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

"""


def request_of(line="cargo test", **fields):
    runner = runner_of(parse_test_command(line))
    return RunRequest(runner=runner, timeout=timedelta(minutes=1), **fields)


def command_of(line="cargo test", **fields):
    request = request_of(line, **fields)
    return list(request.runner.command(None, request, PurePosixPath("/results/x")))


def report_of(output):
    request = request_of()
    files = {
        "output": output,
        "packages": './Cargo.toml:name = "demo"\n',
        "sources": "./src/lib.rs\n./tests/a.rs\n",
    }
    return request.runner.report(files, request)


def test_all_programs_run_though_one_fails():
    assert command_of() == ["cargo", "test", "--no-fail-fast", "--"]
    assert "--no-fail-fast" not in command_of(max_failures=1)


def test_options_about_the_output_are_left_out():
    line = "cargo +stable test -q --release --no-fail-fast -- --nocapture --test-threads=1"
    assert command_of(line) == [
        "cargo", "+stable", "test", "--release", "--no-fail-fast", "--", "--test-threads=1",
    ]  # fmt: skip


def test_chosen_tests_are_run_with_their_programs():
    targets = ("tests/a.rs::x", "src/lib.rs::tests::y")
    assert command_of(targets=targets)[2:] == [
        "--test", "a", "--lib", "--no-fail-fast", "--", "x", "tests::y", "--exact",
    ]  # fmt: skip


def test_chosen_tests_of_packages_of_a_workspace_are_found_by_their_names():
    targets = ("crates/b/tests/a.rs::x", "tests/a.rs::x")
    assert command_of(targets=targets)[2:] == ["--no-fail-fast", "--", "x", "--exact"]


def test_chosen_tests_of_the_documentation_need_all_programs():
    assert command_of(targets=("src/lib.rs::src/lib.rs - f (line 3)",))[2:] == [
        "--no-fail-fast", "--",
    ]  # fmt: skip


def test_each_program_has_to_report_as_many_tests_as_it_says():
    assert report_of(OUTPUT).finished
    assert not report_of(OUTPUT.replace("running 1 test", "running 2 tests")).finished
    assert not report_of(OUTPUT.replace("1 passed", "2 passed")).finished
    assert not report_of(OUTPUT[: OUTPUT.index("test result")]).finished
    assert not report_of("").finished


def test_messages_of_both_forms_of_a_panic_are_understood():
    for panic in (
        "thread 'tests::a' panicked at src/lib.rs:6:48:\nwrong",
        "thread 'tests::a' panicked at 'wrong', src/lib.rs:6:48",
    ):
        details = f"\nfailures:\n\n---- tests::a stdout ----\n{panic}\n\n"
        failed = OUTPUT.replace("... ok\n", f"... FAILED\n{details}")
        failed = failed.replace("ok. 1 passed; 0 failed", "FAILED. 0 passed; 1 failed")
        (case,) = report_of(failed).cases
        assert (case.outcome, case.message[:5]) == ("failed", "wrong")
        assert "panicked" in case.traceback


def judged(after, base=BASE_TOML, path="Cargo.toml"):
    protection = request_of().runner.protection([])
    return protection.judged(PurePosixPath(path), lambda _path: base, after)


def test_new_dependencies_and_programs_are_judged():
    assert judged(BASE_TOML + b'[dependencies]\nx = "1"\n[[bin]]\nname = "b"\n') is None
    assert judged(b"[package\n") is None
    assert judged(b"", path="src/Cargo.lock") is None


@pytest.mark.parametrize(
    "after",
    [
        BASE_TOML + b'[lib]\npath = "other.rs"\n',
        BASE_TOML + b'[[test]]\nname = "a"\nharness = false\n',
        BASE_TOML + b'[patch.crates-io]\nasserts = { path = "mine" }\n',
        BASE_TOML + b"[profile.test]\noverflow-checks = false\n",
        BASE_TOML.replace(b'asserts = "1"', b'asserts = { path = "mine" }'),
        BASE_TOML.replace(b'version = "0.1.0"', b'version = "0.1.0"\nbuild = "mine.rs"'),
        BASE_TOML.replace(b'version = "0.1.0"', b'version = "0.1.0"\nautotests = false'),
    ],
)
def test_what_the_tests_are_and_use_is_that_of_the_base(after):
    content, why = judged(after)
    assert content is None
    assert why.tampers


@pytest.mark.parametrize(
    ("path", "tampers"),
    [
        ("tests/a.rs", False),
        ("src/parser/tests.rs", False),
        ("vendor/asserts/src/lib.rs", False),
        ("build.rs", True),
        ("crates/b/build.rs", True),
        (".cargo/config.toml", True),
        ("rust-toolchain.toml", True),
        ("src/lib.rs", None),
        ("src/vendor/shop.rs", None),
        ("Cargo.toml", None),
        ("Cargo.lock", None),
    ],
)
def test_files_that_steer_the_tests_are_protected(path, tampers):
    protected = request_of().runner.protection([]).why(PurePosixPath(path))
    assert (None if protected is None else protected.tampers) == tampers
