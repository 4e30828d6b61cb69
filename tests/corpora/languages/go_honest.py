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
    }
)
