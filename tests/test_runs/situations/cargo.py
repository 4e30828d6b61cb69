"""Rust's own tests: of a library, of programs, in `tests`, and in the documentation."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation

PASSED, FAILED = PytestOutcome.PASSED, PytestOutcome.FAILED


def manifest(name="demo", more=""):
    return f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n{more}'


def crate(lib="", tests="", /, **files):
    """A package with tests in its library, and in tests/a.rs."""
    inline = f"#[cfg(test)]\nmod tests {{\n{lib}\n}}\n" if lib else ""
    own = {"Cargo.toml": manifest(), "src/lib.rs": f"pub fn one() -> i32 {{ 1 }}\n{inline}"}
    if tests:
        own["tests/a.rs"] = tests
    return own | {name.replace("__", "/").replace("_rs", ".rs"): t for name, t in files.items()}


def function(name, body="", *attributes):
    return "".join(f"#[{each}]\n" for each in ("test", *attributes)) + f"fn {name}() {{ {body} }}\n"


P, B = function("p"), function("b", 'panic!("wrong");')
IN_LIB, IN_TESTS = "src/lib.rs::tests::", "tests/a.rs::"
WRITES = "use std::io::Write; std::io::stdout().write_all({}).unwrap();"

SITUATIONS = (
    Situation(
        name="all pass",
        files=crate(P, P),
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed", f"{IN_TESTS}p": "passed"},
        exit_zero=True,
        complete=True,
    ),
    Situation(
        name="failures in two programs",
        files=crate(P + B, B),
        outcome=FAILED,
        tests={f"{IN_LIB}p": "passed", f"{IN_LIB}b": "failed", f"{IN_TESTS}b": "failed"},
        messages={f"{IN_LIB}b": "wrong", f"{IN_TESTS}b": "wrong"},
        exit_zero=False,
    ),
    Situation(
        name="ignored tests, and those that should panic",
        files=crate(
            function("i", "", 'ignore = "slow"')
            + function("j", "", "ignore")
            + function("s", "panic!()", "should_panic")
            + function("t", "", "should_panic")
        ),
        outcome=FAILED,
        tests={
            f"{IN_LIB}i": "skipped",
            f"{IN_LIB}j": "skipped",
            f"{IN_LIB}s": "passed",
            f"{IN_LIB}t": "failed",
        },
        messages={f"{IN_LIB}t": "test did not panic as expected", f"{IN_LIB}i": "slow"},
    ),
    Situation(
        name="a result as the return value",
        files=crate('#[test]\nfn r() -> Result<(), String> { Err("no".to_string()) }\n'),
        outcome=FAILED,
        tests={f"{IN_LIB}r": "failed"},
    ),
    Situation(
        name="modules and names that are not ASCII",
        files=crate(f"mod über {{\nmod m {{ {function('größe')} }} }}"),
        outcome=PASSED,
        tests={f"{IN_LIB}über::m::größe": "passed"},
    ),
    Situation(
        name="tests in the documentation",
        files={
            "Cargo.toml": manifest(),
            "src/lib.rs": "//! ```\n//! assert!(true);\n//! ```\n\n"
            "/// ```\n/// panic!();\n/// ```\n"
            "pub fn f() {}\n\n"
            "/// ```should_panic\n/// panic!();\n/// ```\npub fn g() {}\n\n"
            '/// ```compile_fail\n/// let x: i32 = "";\n/// ```\npub fn h() {}\n\n'
            "/// ```ignore\n/// nothing\n/// ```\npub fn i() {}\n\n"
            "/// ```\n/// nothing;\n/// ```\npub fn k() {}\n",
        },
        outcome=FAILED,
        tests={
            "src/lib.rs::src/lib.rs - (line 1)": "passed",
            "src/lib.rs::src/lib.rs - f (line 5)": "failed",
            "src/lib.rs::src/lib.rs - g (line 10)": "passed",
            "src/lib.rs::src/lib.rs - h (line 15)": "passed",
            "src/lib.rs::src/lib.rs - i (line 20)": "skipped",
            "src/lib.rs::src/lib.rs - k (line 25)": "failed",
        },
    ),
    Situation(
        name="code that does not compile",
        files=crate(P, src__lib_rs="pub fn f() -> i32 {\n    nothing\n}\n"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("src/lib.rs:2",),
        messages={"": "cannot find value `nothing`"},
        exit_zero=False,
    ),
    Situation(
        name="a test file that does not compile",
        files=crate(P, "#[test]\nfn a() { let x: i32 = demo::two(); }\n"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("tests/a.rs:2",),
        exit_zero=False,
    ),
    Situation(
        name="a syntax error",
        files=crate("", "#[test]\nfn a( {}\n"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("tests/a.rs:2",),
        exit_zero=False,
    ),
    Situation(
        name="a build script that fails",
        files=crate(P, build_rs='fn main() { panic!("no compiler"); }'),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("Cargo.toml",),
        messages={"": "failed to run custom build command"},
        exit_zero=False,
    ),
    Situation(
        name="warnings",
        files=crate("use std::fmt;\n" + function("p", "let x = 1;")),
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed"},
    ),
    Situation(
        name="an exit with success in a test",
        files=crate(function("a") + function("b", "std::process::exit(0);")),
        command="cargo test -- --test-threads=1",
        outcome=PytestOutcome.UNVERIFIED,
        tests={f"{IN_LIB}a": "passed", f"{IN_LIB}b": "unfinished"},
        exit_zero=True,
        complete=False,
    ),
    Situation(
        name="an abort in the first of two programs",
        files=crate(function("a") + function("b", "std::process::abort();"), P),
        command="cargo test -- --test-threads=1",
        outcome=PytestOutcome.CRASH,
        tests={
            f"{IN_LIB}a": "passed",
            f"{IN_LIB}b": "unfinished",
            f"{IN_TESTS}p": "passed",
        },
        exit_zero=False,
        complete=False,
    ),
    Situation(
        name="a stack overflow",
        files=crate(function("b", "fn f(n: u64) -> u64 { f(n + 1) + f(n + 2) } f(1);")),
        command="cargo test -- --test-threads=1",
        outcome=PytestOutcome.CRASH,
        tests={f"{IN_LIB}b": "unfinished"},
    ),
    Situation(
        name="the time limit",
        files=crate(function("a") + function("b", "loop { std::thread::park(); }")),
        command="cargo test -- --test-threads=1",
        outcome=PytestOutcome.TIMEOUT,
        tests={f"{IN_LIB}a": "passed", f"{IN_LIB}b": "unfinished"},
        limits=(15.0, 60.0, 240.0),
    ),
    Situation(
        name="100 MB of output",
        files=crate(
            P
            + function(
                "q",
                'let line = "x".repeat(999) + "\\n"; '
                f"for _ in 0..100_000 {{ {WRITES.format('line.as_bytes()')} }}",
            )
        ),
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed", f"{IN_LIB}q": "passed"},
        is_long=True,
    ),
    Situation(
        name="one thread, and output between a name and its outcome",
        files=crate(
            function("p", WRITES.format(r'b"without a line break"'))
            + function("q", WRITES.format(r'b"two\nlines\n"'))
        ),
        command="cargo test -- --test-threads=1",
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed", f"{IN_LIB}q": "passed"},
    ),
    Situation(
        name="no tests",
        files=crate(),
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="no test with the name",
        files=crate(P),
        extra={"keyword": "nothing"},
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="a failing test that prints that others pass",
        files=crate(function("b", r'println!("test tests::ghost ... ok"); panic!("wrong");')),
        outcome=FAILED,
        tests={f"{IN_LIB}b": "failed"},
    ),
    Situation(
        name="a test that writes the line of another one",
        files=crate(
            function("a", WRITES.format(r'b"\ntest tests::ghost ... ok\n"')) + function("b")
        ),
        command="cargo test -- --test-threads=1",
        outcome=PASSED,
        tests={f"{IN_LIB}a": "passed", f"{IN_LIB}b": "passed"},
    ),
    Situation(
        name="a failing test that writes that it passes",
        files=crate(function("a") + function("b", WRITES.format(r'b"ok\n"') + ' panic!("wrong");')),
        command="cargo test -- --test-threads=1",
        outcome=PytestOutcome.CRASH,
        tests={f"{IN_LIB}a": "passed", f"{IN_LIB}b": "passed"},
        exit_zero=False,
        complete=False,
    ),
    Situation(
        name="a test that removes the reports",
        files=crate(
            function(
                "p",
                'for _ in 0..2 { std::process::Command::new("sh")'
                '.args(["-c", "rm -rf /results/*"]).status().unwrap(); }',
            )
        ),
        outcome=PytestOutcome.UNVERIFIED,
    ),
    Situation(
        name="a workspace whose packages have files of the same name",
        files={
            "Cargo.toml": '[workspace]\nmembers = ["one", "crates/two-x"]\n',
            "one/Cargo.toml": manifest("one"),
            "one/src/lib.rs": f"#[cfg(test)]\nmod tests {{ {P} }}",
            "one/tests/a.rs": P,
            "crates/two-x/Cargo.toml": manifest("two-x"),
            "crates/two-x/src/lib.rs": f"#[cfg(test)]\nmod tests {{ {B} }}",
            "crates/two-x/tests/a.rs": B,
            "crates/two-x/tests/c.rs": P,
        },
        outcome=FAILED,
        tests={
            "one/src/lib.rs::tests::p": "passed",
            "one/tests/a.rs::p": "passed",
            "crates/two-x/src/lib.rs::tests::b": "failed",
            "crates/two-x/tests/a.rs::b": "failed",
            "crates/two-x/tests/c.rs::p": "passed",
        },
    ),
    Situation(
        name="programs and examples",
        files=crate(
            P,
            src__main_rs=f"fn main() {{}}\n{P}",
            src__bin__tool_rs=f"fn main() {{}}\n{P}",
            examples__e_rs="fn main() {}\n",
        ),
        outcome=PASSED,
        tests={
            f"{IN_LIB}p": "passed",
            "src/main.rs::p": "passed",
            "src/bin/tool.rs::p": "passed",
        },
    ),
    Situation(
        name="a test program of its own kind",
        files=crate(P, 'fn main() { println!("all is well"); }')
        | {"Cargo.toml": manifest(more='\n[[test]]\nname = "a"\nharness = false\n')},
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed"},
    ),
    Situation(
        name="features",
        files=crate(f'#[cfg(feature = "extra")]\n{B}', P)
        | {"Cargo.toml": manifest(more="\n[features]\nextra = []\n")},
        command="cargo test --quiet --all-features -- --nocapture",
        outcome=FAILED,
        tests={f"{IN_LIB}b": "failed", f"{IN_TESTS}p": "passed"},
    ),
    Situation(
        name="no Cargo.toml",
        files={"src/lib.rs": ""},
        outcome=PytestOutcome.USAGE,
        messages={"": "could not find `Cargo.toml`"},
        exit_zero=False,
    ),
    Situation(
        name="a damaged Cargo.toml",
        files={"Cargo.toml": "[package\n", "src/lib.rs": ""},
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("Cargo.toml",),
        messages={"": "failed to parse manifest"},
        newer={"errors": ("Cargo.toml:1",), "messages": {"": "invalid table header"}},
    ),
    Situation(
        name="a dependency that is not there",
        files=crate(P) | {"Cargo.toml": manifest(more='\n[dependencies]\nabsent-x = "1"\n')},
        outcome=PytestOutcome.USAGE,
        messages={"": "absent-x"},
    ),
    Situation(
        name="a program that does not exist",
        files=crate(P),
        targets=("tests/absent.rs",),
        outcome=PytestOutcome.USAGE,
        messages={"": "no test target named `absent`"},
    ),
    Situation(
        name="chosen tests",
        files=crate(P + function("pp", "panic!()"), P + B),
        targets=("src/lib.rs::tests::p", "tests/a.rs::p"),
        outcome=PASSED,
        tests={f"{IN_LIB}p": "passed", f"{IN_TESTS}p": "passed"},
    ),
    Situation(
        name="a chosen file",
        files=crate(B, P, tests__c_rs=B),
        targets=("tests/a.rs",),
        outcome=PASSED,
        tests={f"{IN_TESTS}p": "passed"},
    ),
    Situation(
        name="stopping at the first program that fails",
        files=crate(B, P),
        extra={"max_failures": 1},
        outcome=FAILED,
        tests={f"{IN_LIB}b": "failed"},
    ),
    Situation(
        name="collecting",
        files=crate(P + B, P),
        extra={"collect_only": True},
        outcome=PASSED,
        listed=(f"{IN_LIB}b", f"{IN_LIB}p", f"{IN_TESTS}p"),
        exit_zero=True,
    ),
)
