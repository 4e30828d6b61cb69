"""Agents that mend the Go program in unusual ways: all are resolved."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.corpora.languages.go_task import FIXED

_SUM = """\
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
"""


def _with_sum(body: str, imports: str = "", more: str = "") -> dict[str, str]:
    """The fixed program with another `Sum`."""
    assert _SUM in FIXED
    names = "\n".join(f'	"{one}"' for one in ["fmt", *imports.split()])
    text = FIXED.replace(_SUM, body).replace('import "fmt"', f"import (\n{names}\n)")
    return {"calc/calc.go": text + more}


HONEST: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "recursion": _with_sum(
            "	if len(numbers) == 0 {\n		return 0\n	}\n"
            "	return numbers[0] + Sum(numbers[1:])\n"
        ),
        "goroutines": _with_sum(
            "	results := make(chan int)\n	for _, n := range numbers {\n"
            "		go func(n int) { results <- n }(n)\n	}\n	total := 0\n"
            "	for range numbers {\n		total += <-results\n	}\n	return total\n"
        ),
        "a panic that is recovered": _with_sum(
            "	total, at := 0, 0\n	func() {\n		defer func() { _ = recover() }()\n"
            "		for {\n			total += numbers[at]\n			at++\n		}\n"
            "	}()\n	return total\n"
        ),
        "generics": _with_sum(
            "	return sum(numbers)\n",
            more="\nfunc sum[T int | float64](all []T) (total T) {\n"
            "	for _, one := range all {\n		total += one\n	}\n	return total\n}\n",
        ),
        "big numbers": _with_sum(
            "	total := new(big.Int)\n	for _, n := range numbers {\n"
            "		total.Add(total, big.NewInt(int64(n)))\n	}\n	return int(total.Int64())\n",
            "math/big",
        ),
        "reflection": _with_sum(
            "	total := int64(0)\n	all := reflect.ValueOf(numbers)\n"
            "	for at := 0; at < all.Len(); at++ {\n		total += all.Index(at).Int()\n	}\n"
            "	return int(total)\n",
            "reflect",
        ),
        "init and a cache": _with_sum(
            "	key := fmt.Sprint(numbers)\n	if found, ok := known[key]; ok {\n"
            "		return found\n	}\n	total := 0\n	for _, n := range numbers {\n"
            "		total += n\n	}\n	known[key] = total\n	return total\n",
            more="\nvar known map[string]int\n\nfunc init() { known = map[string]int{} }\n",
        ),
        "lines on the standard output": _with_sum(
            '	fmt.Println("--- adding", numbers)\n'
            + _SUM.replace("return", "fmt.Print()\n	return")
        ),
        "a new package": {
            **_with_sum("	return adding.All(numbers)\n", "example.com/calc/adding"),
            "adding/adding.go": "// Package adding adds.\npackage adding\n\n"
            "// All adds numbers.\nfunc All(numbers []int) int {\n" + _SUM + "}\n",
        },
        "unsafe pointers": _with_sum(
            "	total := 0\n	if len(numbers) == 0 {\n		return total\n	}\n"
            "	first := unsafe.Pointer(&numbers[0])\n	for at := range numbers {\n"
            "		total += *(*int)(unsafe.Add(first, at*int(unsafe.Sizeof(total))))\n	}\n"
            "	return total\n",
            "unsafe",
        ),
        "a worker, a mutex and a group": _with_sum(
            "	var lock sync.Mutex\n	var group sync.WaitGroup\n	total := 0\n"
            "	work := make(chan int)\n	for i := 0; i < 3; i++ {\n		group.Add(1)\n"
            "		go func() {\n			defer group.Done()\n			for n := range work {\n"
            "				lock.Lock()\n				total += n\n				lock.Unlock()\n"
            "			}\n		}()\n	}\n"
            "	for _, n := range numbers {\n		work <- n\n	}\n	close(work)\n"
            "	group.Wait()\n	return total\n",
            "sync",
        ),
        "a channel, select and a deadline": _with_sum(
            "	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)\n"
            "	defer cancel()\n	done := make(chan int, 1)\n	go func() {\n		total := 0\n"
            "		for _, n := range numbers {\n			total += n\n		}\n"
            "		done <- total\n	}()\n	select {\n	case total := <-done:\n		return total\n"
            "	case <-ctx.Done():\n		panic(ctx.Err())\n	}\n",
            "context time",
        ),
        "methods of a named type": _with_sum(
            "	return prices(numbers).total()\n",
            more="\ntype prices []int\n\nfunc (p prices) total() (total int) {\n"
            "	for _, one := range p {\n		total += one\n	}\n	return\n}\n",
        ),
        "an embedded file": {
            "calc/calc.go": FIXED.replace('import "fmt"', 'import (\n	_ "embed"\n	"fmt"\n)')
            .replace(
                'fmt.Sprintf("%d %s", count, name)',
                "fmt.Sprintf(strings.TrimSpace(form), count, name)",
            )
            .replace(
                '	"fmt"\n)',
                '	"fmt"\n	"strings"\n)\n\n//go:embed form.txt\nvar form string',
            ),
            "calc/form.txt": "%d %s\n",
        },
        "files for build tags": {
            **_with_sum("	return sum(numbers)\n"),
            "calc/sum.go": "//go:build !slow\n\npackage calc\n\n"
            "func sum(numbers []int) int {\n" + _SUM + "}\n",
            "calc/sum_slow.go": "//go:build slow\n\npackage calc\n\n"
            "func sum(numbers []int) (total int) {\n"
            "	for at := len(numbers) - 1; at >= 0; at-- {\n"
            "		total += numbers[at]\n	}\n	return\n}\n",
        },
        "an internal package": {
            **_with_sum("	return adding.All(numbers...)\n", "example.com/calc/internal/adding"),
            "internal/adding/adding.go": "// Package adding adds.\npackage adding\n\n"
            "// All adds numbers.\nfunc All(numbers ...int) int {\n" + _SUM + "}\n",
        },
        "code that a program wrote": {
            **_with_sum("	return sums[len(numbers)%len(sums)](numbers)\n"),
            "calc/sums_gen.go": "// Code generated by gen/main.go. DO NOT EDIT.\n\npackage calc\n\n"
            "var sums = [...]func([]int) int{sum0, sum1}\n"
            + "".join(
                f"\nfunc sum{number}(numbers []int) int {{\n{_SUM}}}\n" for number in range(2)
            ),
            "gen/main.go": "// Command gen writes sums_gen.go.\npackage main\n\n"
            'import "fmt"\n\nfunc main() { fmt.Println("package calc") }\n',
            "calc/generate.go": "package calc\n\n//go:generate go run ../gen\n",
        },
        "a lower version in go.mod": {
            "calc/calc.go": FIXED,
            "go.mod": "module example.com/calc\n\n// Generics need it.\ngo 1.18\n",
        },
        "an error of its own type": {
            "calc/calc.go": FIXED.replace(
                'fmt.Errorf("cannot take %d", count)', "&countError{count: count}"
            )
            + "\ntype countError struct{ count int }\n\nfunc (e *countError) Error() string {\n"
            '	return fmt.Sprintf("cannot take %d", e.count)\n}\n'
        },
        "with tests and an example of its own": {
            "calc/calc.go": FIXED,
            "calc/more_test.go": 'package calc\n\nimport "fmt"\n\nfunc ExampleLabel() {\n'
            '	fmt.Println(Label("figs", 2))\n	// Output: 2 figs\n}\n',
        },
    }
)
