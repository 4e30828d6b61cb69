import json
import subprocess
import sys
from pathlib import Path

PROGRAM = "import json; from serializer import report_of; print(json.dumps(report_of(40)))"

TESTS = """
import pytest
class TestNumbers:
    @pytest.mark.parametrize("n", range(40))
    def test_number(self, n):
        assert n % 20
"""


def shape(value):
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def of_the_class(collectors):
    (found,) = (each for each in collectors if each["nodeid"].endswith("::TestNumbers"))
    return found


def test_a_report_has_the_shape_of_a_real_one(tmp_path):
    (tmp_path / "test_module_0000.py").write_text(TESTS)
    pytest_command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--json-report"]
    subprocess.run([*pytest_command, "--json-report-file=report.json"], cwd=tmp_path, check=False)
    real = json.loads((tmp_path / "report.json").read_text())
    folder = Path(__file__).parents[2] / "benchmarks"
    made = json.loads(subprocess.check_output([sys.executable, "-c", PROGRAM], cwd=folder))
    assert made.keys() == real.keys()
    for number in (0, 1):
        assert shape(made["tests"][number]) == shape(real["tests"][number])
    assert shape(made["collectors"][0]) == shape(of_the_class(real["collectors"]))
    assert made["summary"] == real["summary"]
