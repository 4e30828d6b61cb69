import json
import resource
import sys

import pytest

from benchmarks.measuring import arguments, child, show, table, take_turns
from tests.patience import with_growing_limit

MIB = 1024 * 1024


def test_variants_take_turns_and_ratios_are_taken_within_a_round():
    order = []
    base, slow = iter([1.0, 10.0, 1.0]), iter([2.0, 20.0, 3.0])

    def turn(name, values):
        order.append(name)
        return next(values)

    fast_one, slow_one = take_turns(
        {"base": lambda: turn("base", base), "slow": lambda: turn("slow", slow)}, 3
    )
    assert order == ["base", "slow", "slow", "base", "base", "slow"]
    assert fast_one.ratio == 1.0
    assert slow_one.ratios == (2.0, 2.0, 3.0)
    assert (slow_one.ratio, slow_one.median, slow_one.against) == (2.0, 3.0, "base")
    assert "2.00 x (2.00-3.00) of base" in table([fast_one, slow_one])


def test_a_child_is_measured_with_its_memory():
    # A child holds what this process does for a moment, which may be much after other tests.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    small = child([sys.executable, "-c", "pass"])
    large = child([sys.executable, "-c", f"x = b'x' * ({own} + (200 << 20))"])
    assert large.peak_bytes - small.peak_bytes > 100 * MIB
    assert small.processor_s > 0
    assert small.seconds > 0


def test_a_child_runs_with_byte_code_that_an_earlier_one_wrote(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "one.py").write_text("", encoding="utf-8")
    told = "import os, one; print(os.path.getmtime(one.__cached__), file=open('told', 'a'))"
    for _ in range(2):
        child(["env", "-C", str(tmp_path), sys.executable, "-c", told])
    first, second = (tmp_path / "told").read_text().splitlines()
    assert first == second
    assert {path.name for path in tmp_path.iterdir()} == {"one.py", "told"}


def test_children_of_a_child_are_counted_with_it():
    hold = "x = b'x' * (100 << 20)"

    def measured(rounds):
        work = f"{hold}; [x.count(b'y') for _ in range({rounds})]"
        text = f"import subprocess, sys; {hold}; subprocess.run([sys.executable, '-c', {work!r}])"
        return child([sys.executable, "-c", text], together=True).together_bytes

    # Memory is sampled: on a busy machine the work has to last longer to be met by a sample.
    assert with_growing_limit(measured, lambda held: held > 200 * MIB, limits=(10, 100, 1000))
    assert child([sys.executable, "-c", "pass"], together=True).together_bytes < 100 * MIB


def test_a_child_that_fails_stops_the_benchmark():
    with pytest.raises(SystemExit, match="exit code 3"):
        child([sys.executable, "-c", "raise SystemExit(3)"])


def test_figures_are_written_as_json(tmp_path, capsys):
    options = arguments("doc").parse_args(["--rounds", "5", "--json", str(tmp_path / "a.json")])
    measures = take_turns({"a": lambda: 2.0, "b": lambda: 5.0}, options.rounds)
    show("letters", measures, options, notes=["a note"], facts={"letters": 2})
    assert "a note" in capsys.readouterr().out
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["benchmark"] == "letters"
    assert told["rounds"] == 5
    assert told["machine"]["cores"] >= 1
    assert told["facts"] == {"letters": 2}
    assert [each["name"] for each in told["measures"]] == ["a", "b"]
    assert (told["measures"][1]["median"], told["measures"][1]["ratio"]) == (5.0, 2.5)


@pytest.mark.parametrize("rounds", ["0", "-1", "many"])
def test_rounds_that_are_none_are_refused(rounds):
    with pytest.raises(SystemExit):
        arguments("doc").parse_args(["--rounds", rounds])
