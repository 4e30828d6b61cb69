"""Go's own tests, in modules and without."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation

PASSED, FAILED = PytestOutcome.PASSED, PytestOutcome.FAILED
MODULE = "module example.com/m\n\ngo 1.19\n"


def file_with(body, *imports, package="m"):
    names = "".join(f"import {name!r}\n".replace("'", '"') for name in ("testing", *imports))
    return f"package {package}\n\n{names}\n{body}\n"


def module(body="", *imports, **more):
    """A module with one test file."""
    files = {name.replace("__", "/").replace("_go", ".go"): text for name, text in more.items()}
    own = {"a_test.go": file_with(body, *imports)} if body else {}
    return {"go.mod": MODULE, **own, **files}


PASSES = "func TestA(t *testing.T) {}"
FAILS = 'func TestB(t *testing.T) { t.Fatal("wrong") }'
A, B = "a_test.go::TestA", "a_test.go::TestB"

SITUATIONS = (
    Situation(
        name="all pass",
        files=module(PASSES),
        outcome=PASSED,
        tests={A: "passed"},
        exit_zero=True,
        complete=True,
    ),
    Situation(
        name="one fails and one is skipped",
        files=module(
            f'{PASSES}\n{FAILS}\nfunc TestC(t *testing.T) {{ t.Skip("not today") }}',
        ),
        outcome=FAILED,
        tests={A: "passed", B: "failed", "a_test.go::TestC": "skipped"},
        exit_zero=False,
        messages={B: "wrong"},
    ),
    Situation(
        name="nested subtests and those of a table",
        files=module(
            """func TestTable(t *testing.T) {
    for _, name := range []string{"one", "two"} {
        t.Run(name, func(t *testing.T) {
            t.Run("deep", func(t *testing.T) { if name == "three" { t.Fail() } })
            if name == "two" { t.Error("it is two") }
        })
    }
}"""
        ),
        outcome=FAILED,
        tests={
            "a_test.go::TestTable": "failed",
            "a_test.go::TestTable/one": "passed",
            "a_test.go::TestTable/one/deep": "passed",
            "a_test.go::TestTable/two": "failed",
            "a_test.go::TestTable/two/deep": "passed",
        },
        messages={"a_test.go::TestTable/two": "it is two"},
    ),
    Situation(
        name="names of subtests that are empty, equal, or not ASCII",
        files=module(
            """func TestNames(t *testing.T) {
    for _, name := range []string{"", "same", "same", "Grüße, Welt", "日本", "a/b", "x::y"} {
        t.Run(name, func(t *testing.T) {})
    }
}"""
        ),
        outcome=PASSED,
        tests={
            f"a_test.go::TestNames{each}": "passed"
            for each in ("", "/#00", "/same", "/same#01", "/Grüße,_Welt", "/日本", "/a/b", "/x::y")
        },
    ),
    Situation(
        name="parallel tests",
        files=module(
            "\n".join(
                f'func TestP{n}(t *testing.T) {{ t.Parallel(); t.Log("p{n}"); '
                f"if {n} == 3 {{ t.Fail() }} }}"
                for n in range(8)
            )
        ),
        outcome=FAILED,
        tests={f"a_test.go::TestP{n}": "failed" if n == 3 else "passed" for n in range(8)},
    ),
    Situation(
        name="a panic, after which no test runs",
        files=module(
            f'{PASSES}\nfunc TestB(t *testing.T) {{ panic("at the disco") }}\n'
            "func TestC(t *testing.T) {}"
        ),
        outcome=FAILED,
        tests={A: "passed", B: "failed"},
        exit_zero=False,
        messages={B: "panic: at the disco"},
    ),
    Situation(
        name="a panic in another goroutine",
        files=module(
            f"{PASSES}\nfunc TestB(t *testing.T) {{ "
            'go func() { panic("elsewhere") }(); select {} }'
        ),
        outcome=FAILED,
        tests={A: "passed", B: "unfinished"},
        exit_zero=False,
    ),
    Situation(
        name="an error of Go itself",
        files=module("func TestB(t *testing.T) { (&sync.Mutex{}).Unlock() }", "sync"),
        outcome=FAILED,
        tests={B: "unfinished"},
        exit_zero=False,
    ),
    Situation(
        name="an exit with success in a test",
        files=module(f"{PASSES}\nfunc TestB(t *testing.T) {{ os.Exit(0) }}", "os"),
        outcome=FAILED,
        tests={A: "passed", B: "failed"},
        exit_zero=False,
    ),
    Situation(
        name="an exit with success before the tests",
        files=module(f"{PASSES}\nfunc init() {{ os.Exit(0) }}", "os"),
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="a TestMain that runs no tests",
        files=module(f"{PASSES}\nfunc TestMain(m *testing.M) {{ os.Exit(0) }}", "os"),
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="a TestMain that hides failures",
        files=module(f"{FAILS}\nfunc TestMain(m *testing.M) {{ m.Run(); os.Exit(0) }}", "os"),
        outcome=PytestOutcome.UNVERIFIED,
        tests={B: "failed"},
        exit_zero=True,
    ),
    Situation(
        name="a TestMain whose set-up fails",
        files=module(
            f'{PASSES}\nfunc TestMain(m *testing.M) {{ log.Fatal("no database") }}', "log"
        ),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=(".",),
        messages={"": "no database"},
        exit_zero=False,
    ),
    Situation(
        name="a TestMain that fails after tests that pass",
        files=module(
            f'{PASSES}\nfunc TestMain(m *testing.M) {{ m.Run(); println("leaked"); os.Exit(3) }}',
            "os",
        ),
        outcome=PytestOutcome.COLLECTION_ERROR,
        tests={A: "passed"},
        errors=(".",),
        exit_zero=False,
    ),
    Situation(
        name="code that does not compile",
        files=module(PASSES, a_go="package m\n\nfunc f() int { return 1 + nothing }\n"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("a.go:3",),
        messages={"": "undefined: nothing"},
        exit_zero=False,
    ),
    Situation(
        name="a test file with a syntax error",
        files=module("func TestA(t *testing.T) {\n"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("a_test.go:6",),
        exit_zero=False,
    ),
    Situation(
        name="one package of two does not compile",
        files={
            "go.mod": MODULE,
            "good/a_test.go": file_with(PASSES),
            "bad/b.go": 'package bad\n\nvar X int = "text"\n',
            "bad/b_test.go": file_with(PASSES, package="bad"),
        },
        outcome=PytestOutcome.COLLECTION_ERROR,
        tests={"good/a_test.go::TestA": "passed"},
        errors=("bad/b.go:3",),
        exit_zero=False,
    ),
    Situation(
        name="a package that does not exist",
        files=module("func TestA(t *testing.T) { x.F() }", "example.com/absent/x"),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("a_test.go:4",),
        exit_zero=False,
        extra={"env": {"GOPROXY": "off", "GOFLAGS": "-mod=mod"}},
    ),
    Situation(
        name="vet finds a fault",
        files=module('func TestA(t *testing.T) { t.Logf("%d", "text") }'),
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=("a_test.go:5",),
        messages={"": "wrong type string"},
        exit_zero=False,
    ),
    Situation(
        name="vet is turned off",
        files=module('func TestA(t *testing.T) { t.Logf("%d", "text") }'),
        command="go test -vet=off",
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="the time limit",
        files=module(f"{PASSES}\nfunc TestB(t *testing.T) {{ for {{ time.Sleep(1e9) }} }}", "time"),
        outcome=PytestOutcome.TIMEOUT,
        tests={A: "passed", B: "unfinished"},
        limits=(10.0, 60.0, 240.0),
    ),
    Situation(
        name="the time limit of go itself",
        files=module(
            f"{PASSES}\nfunc TestB(t *testing.T) {{ select {{}} }}\n"
            "func init() { go func() { for { time.Sleep(1e9) } }() }",
            "time",
        ),
        command="go test -timeout 1s ./...",
        outcome=FAILED,
        tests={A: "passed", B: "unfinished"},
        messages={B: "panic: test timed out"},
        exit_zero=False,
    ),
    Situation(
        name="100 MB of output",
        files=module(
            f'{PASSES}\nfunc TestB(t *testing.T) {{ line := strings.Repeat("x", 1000)\n'
            "for i := 0; i < 100_000; i++ { fmt.Println(line) } }",
            "fmt",
            "strings",
        ),
        outcome=PASSED,
        tests={A: "passed", B: "passed"},
        extra={},
    ),
    Situation(
        name="a report that is too large",
        files=module(
            f'{PASSES}\nfunc TestB(t *testing.T) {{ line := strings.Repeat("x", 1000)\n'
            "for i := 0; i < 300_000; i++ { fmt.Println(line) } }",
            "fmt",
            "strings",
        ),
        outcome=PytestOutcome.UNVERIFIED,
        exit_zero=True,
        is_long=True,
    ),
    Situation(
        name="one line of 20 MB",
        files=module(
            f'{PASSES}\nfunc TestB(t *testing.T) {{ fmt.Println(strings.Repeat("x", 20<<20)) }}',
            "fmt",
            "strings",
        ),
        outcome=PASSED,
        tests={A: "passed", B: "passed"},
    ),
    Situation(
        name="no test files",
        files=module(a_go="package m\n"),
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="no test with the name",
        files=module(PASSES),
        extra={"keyword": "Nothing"},
        outcome=PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    Situation(
        name="output without a line break at its end",
        files=module('func TestA(t *testing.T) { fmt.Print("no line break") }', "fmt"),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="output without a line break before a failure",
        files=module('func TestB(t *testing.T) { fmt.Print("no line break"); t.Fail() }', "fmt"),
        outcome=FAILED,
        tests={B: "failed"},
    ),
    Situation(
        name="bytes that are not text",
        files=module('func TestA(t *testing.T) { fmt.Println("\\xff\\x00\\x1b[31m") }', "fmt"),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="a failing test that prints that it passes",
        files=module(
            'func TestB(t *testing.T) { fmt.Println("\\n--- PASS: TestB (0.00s)"); t.Fail() }',
            "fmt",
        ),
        outcome=FAILED,
        tests={B: "passed, unfinished"},
        exit_zero=False,
        newer={"tests": {B: "failed"}},  # its own lines have a mark
    ),
    Situation(
        name="a test that prints of a test that is not there",
        files=module(
            'func TestA(t *testing.T) { fmt.Println("--- PASS: TestGhost (0.00s)") }', "fmt"
        ),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="a test that prints events",
        files=module(
            "func TestA(t *testing.T) {\n"
            'fmt.Println(`{"Action":"run","Package":"example.com/m","Test":"TestGhost"}`)\n'
            'fmt.Println(`{"Action":"pass","Package":"example.com/m","Test":"TestGhost"}`) }',
            "fmt",
        ),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="a test that kills go",
        files={
            "go.mod": MODULE,
            "a/a_test.go": file_with(PASSES),
            "b/b_test.go": file_with(
                # Go may pass on what a test printed before it died, or not.
                "func TestB(t *testing.T) {}\n"
                "func init() { p, _ := os.FindProcess(os.Getppid()); p.Kill(); select {} }",
                "os",
            ),
        },
        command="go test -p 1 ./a ./b",
        outcome=PytestOutcome.CRASH,
        tests={"a/a_test.go::TestA": "passed"},
        exit_zero=False,
    ),
    Situation(
        name="a test that removes the reports",
        files=module(
            "func TestA(t *testing.T) { "
            'exec.Command("sh", "-c", "rm -rf /results/*; rm -rf /results/*").Run() }',
            "os/exec",
        ),
        outcome=PytestOutcome.UNVERIFIED,
    ),
    Situation(
        name="a process that is left behind and holds the output",
        files=module(
            'func TestA(t *testing.T) { c := exec.Command("sh", "-c", "exec sleep 6000"); '
            "c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}; c.Start() }",
            "os/exec",
            "syscall",
        ),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="several packages with tests of the same name",
        files={
            "go.mod": MODULE,
            "x/a_test.go": file_with(PASSES, package="x"),
            "x/y/a_test.go": file_with(PASSES, package="y"),
            "z/b_test.go": file_with("func TestA(t *testing.T) { t.Fail() }", package="z"),
        },
        outcome=FAILED,
        tests={
            "x/a_test.go::TestA": "passed",
            "x/y/a_test.go::TestA": "passed",
            "z/b_test.go::TestA": "failed",
        },
    ),
    Situation(
        name="an external test package, an example and seeds of a fuzz test",
        files={
            "go.mod": MODULE,
            "a.go": "package m\n\nfunc F() int { return 1 }\n",
            "a_test.go": file_with(
                "func TestA(t *testing.T) { m.F() }", "example.com/m", package="m_test"
            ),
            "b_test.go": file_with(
                "func ExampleF() { fmt.Println(1)\n// Output: 2\n}\n"
                "func FuzzX(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) {}) }",
                "fmt",
            ),
        },
        outcome=FAILED,
        tests={
            A: "passed",
            "b_test.go::ExampleF": "failed",
            "b_test.go::FuzzX": "passed",
            "b_test.go::FuzzX/seed#0": "passed",
        },
        messages={"b_test.go::ExampleF": "got:"},
    ),
    Situation(
        name="cgo off",
        files=module(PASSES, a_go='package m\n\nimport "C"\n\nfunc broken() { nothing() }\n'),
        extra={"env": {"CGO_ENABLED": "0"}},
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="a build tag and a short run",
        files=module(
            'func TestA(t *testing.T) { if !testing.Short() { t.Fatal("long") } }',
            b_test_go="//go:build integration\n\n" + file_with(FAILS),
        ),
        command="go test -short -tags integration -run 'TestA|TestB/x' ./...",
        outcome=FAILED,
        tests={A: "passed", "b_test.go::TestB": "failed"},
    ),
    Situation(
        name="a file without its build tag",
        files=module(PASSES, b_test_go="//go:build integration\n\n" + file_with(FAILS)),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="a module in a folder",
        files={"sub/go.mod": MODULE, "sub/p/a_test.go": file_with(PASSES + "\n" + FAILS)},
        command="go test -C sub ./...",
        targets=("sub/p/a_test.go::TestA",),
        outcome=PASSED,
        tests={"sub/p/a_test.go::TestA": "passed"},
    ),
    Situation(
        name="two modules of a workspace",
        files={
            "go.work": "go 1.19\n\nuse (\n\t./one\n\t./two\n)\n",
            "one/go.mod": "module example.com/one\n",
            "one/a_test.go": file_with(PASSES),
            "two/go.mod": "module example.com/two // the second\n",
            "two/a_test.go": file_with(FAILS),
        },
        command="go test ./one/... ./two/...",
        outcome=FAILED,
        tests={"one/a_test.go::TestA": "passed", "two/a_test.go::TestB": "failed"},
    ),
    Situation(
        name="no module",
        files={"p/a_test.go": file_with(PASSES)},
        outcome=PytestOutcome.USAGE,
        messages={"": "main module"},
        exit_zero=False,
    ),
    Situation(
        name="GOPATH without modules",
        files={"p/a_test.go": file_with(PASSES), "b_test.go": file_with(FAILS)},
        extra={"env": {"GO111MODULE": "off"}},
        outcome=FAILED,
        tests={"p/a_test.go::TestA": "passed", "b_test.go::TestB": "failed"},
    ),
    Situation(
        name="a damaged go.mod",
        files={"go.mod": "modul x\n", "a_test.go": file_with(PASSES)},
        outcome=PytestOutcome.USAGE,
        messages={"": "go.mod"},
        exit_zero=False,
    ),
    Situation(
        name="a folder that does not exist",
        files=module(PASSES),
        targets=("absent/b_test.go",),
        outcome=PytestOutcome.USAGE,
        messages={"": "directory not found"},
        exit_zero=False,
    ),
    Situation(
        name="an option that does not exist",
        files=module(PASSES),
        command="go test -absent=1",
        outcome=PytestOutcome.COLLECTION_ERROR,
        errors=(".",),
        exit_zero=False,
    ),
    Situation(
        name="chosen tests",
        files=module(
            'func TestA(t *testing.T) { t.Run("x", func(t *testing.T) {}) }\n'
            "func TestAB(t *testing.T) { t.Fail() }",
            b__b_test_go=file_with("func TestA(t *testing.T) { t.Fail() }"),
        ),
        targets=("a_test.go::TestA/x",),
        outcome=PASSED,
        tests={A: "passed", "a_test.go::TestA/x": "passed"},
    ),
    Situation(
        name="a chosen folder",
        files={"go.mod": MODULE, "p/a_test.go": file_with(PASSES), "q/b_test.go": file_with(FAILS)},
        targets=("p",),
        outcome=PASSED,
        tests={"p/a_test.go::TestA": "passed"},
    ),
    Situation(
        name="stopping at the first failure",
        files=module(f"{FAILS}\nfunc TestC(t *testing.T) {{}}"),
        extra={"max_failures": 1},
        outcome=FAILED,
        tests={B: "failed"},
    ),
    Situation(
        name="each test runs twice",
        files=module(PASSES),
        command="go test -cpu 1,2",
        outcome=PASSED,
        tests={A: "passed, passed"},
    ),
    Situation(
        name="a command that repeats the tests",
        files=module(PASSES),
        command="go test -count 3 -v",
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="collecting",
        files=module(f"{PASSES}\n{FAILS}", b__b_test_go=file_with(PASSES)),
        extra={"collect_only": True},
        outcome=PASSED,
        listed=(A, B, "b/b_test.go::TestA"),
        exit_zero=True,
    ),
    Situation(
        name="arguments of the test program",
        files=module(
            'func TestA(t *testing.T) { if os.Args[len(os.Args)-1] != "x" { t.Fatal(os.Args) } }',
            "os",
        ),
        command="go test ./... -args x",
        outcome=PASSED,
        tests={A: "passed"},
    ),
)
