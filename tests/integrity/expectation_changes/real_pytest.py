"""Runs pytest on files in a folder and tells how each test ended."""

import json
import subprocess
import sys
from pathlib import Path


def outcomes(folder: Path, *files: str, importing: str = "prepend") -> dict[str, str]:
    report = folder / "report.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"),
            *("-p", "pytest_jsonreport", "--json-report", f"--json-report-file={report}"),
            *(f"--import-mode={importing}", "-W", "error::SyntaxWarning"),
            *files,
        ],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=250,
    )
    return {test["nodeid"]: test["outcome"] for test in json.loads(report.read_text())["tests"]}
