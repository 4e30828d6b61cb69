"""A small Go program for hidden tests of many styles: it has a bug in each function."""

from pathlib import Path

from tests.e2e.small_task import SERIAL, patch_of

BUGGY = """\
// Package calc adds and names things.
package calc

import "errors"

// Sum adds numbers.
func Sum(numbers []int) int {
	total := 0
	for _, n := range numbers[1:] {
		total += n
	}
	return total
}

// Label says how many of what.
func Label(name string, count int) string {
	return name
}

// Take refuses to take less than one.
func Take(count int) (int, error) {
	return count, errors.New("not yet")
}
"""
FIXED = (
    BUGGY.replace('import "errors"', 'import "fmt"')
    .replace("numbers[1:]", "numbers")
    .replace("	return name\n", '	return fmt.Sprintf("%d %s", count, name)\n')
    .replace(
        '	return count, errors.New("not yet")',
        '	if count < 1 {\n		return 0, fmt.Errorf("cannot take %d", count)\n	}\n'
        "	return count, nil",
    )
)
VISIBLE = """\
package calc

import "testing"

func TestNothing(t *testing.T) {
	if got := len("calc"); got != 4 {
		t.Fatal(got)
	}
}
"""
HIDDEN = """\
package calc

import "testing"

func TestSum(t *testing.T) {
	want := 8001
	if got := Sum([]int{7000, 1000, 1}); got != want {
		t.Errorf("got %d", got)
	}
}

func TestLabel(t *testing.T) {
	tests := []struct {
		name  string
		count int
		want  string
	}{
		{"pears", 2, "2 pears"},
		{"figs", 73, "73 figs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Label(tt.name, tt.count); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTake(t *testing.T) {
	if got, err := Take(47); err != nil || got != 47 {
		t.Fatal(got, err)
	}
	if _, err := Take(-3); err == nil || err.Error() != "cannot take -3" {
		t.Fatal(err)
	}
}
"""
IDS = tuple(
    f"calc/hidden_test.go::{name}"
    for name in ("TestSum", "TestLabel", "TestLabel/pears", "TestLabel/figs", "TestTake")
)
FIX = f"git apply <<'END'\n{patch_of('calc/calc.go', BUGGY, FIXED)}END\n"
"""The reference solution as a command."""


def write_task(folder: Path) -> Path:
    """Write the task into a new folder, and return that."""
    files = {
        "go.mod": "module example.com/calc\n\ngo 1.19\n",
        "calc/calc.go": BUGGY,
        "calc/calc_test.go": VISIBLE,
        "serial.txt": SERIAL,
    }
    for name, text in files.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "instruction.md").write_text("`Sum`, `Label` and `Take` give wrong results.\n")
    (folder / "tests.patch").write_text(patch_of("calc/hidden_test.go", "", HIDDEN))
    (folder / "solution.patch").write_text(patch_of("calc/calc.go", BUGGY, FIXED))
    (folder / "task.toml").write_text(
        'schema_version = 1\ntitle = "Wrong sums"\n[repo]\npath = "repo"\n[tests]\nrunner = "go"\n'
        f'timeout_s = 300\nfail_to_pass = {list(IDS)}\npass_to_pass = "baseline"\n'
    )
    return folder
