"""The program of `plain_runner.py`: calls each function `test_*` of the given files."""

import sys
import traceback
from pathlib import Path

results, *targets = sys.argv[1:]
lines, failed = [], False
sys.path.insert(0, "")
for target in targets:
    files = sorted(Path(target).rglob("test_*.py")) if Path(target).is_dir() else [Path(target)]
    for file in files:
        names = {"__name__": file.stem}
        exec(compile(file.read_text(), str(file), "exec"), names)
        for name, value in names.items():
            if name.startswith("test"):
                try:
                    value()
                except Exception:  # noqa: BLE001 - whatever a test raises
                    traceback.print_exc()
                    lines.append(f"failed {file} > {name}")
                    failed = True
                else:
                    lines.append(f"passed {file} > {name}")
Path(results).mkdir()
Path(results, "report.txt").write_text("".join(f"{line}\n" for line in lines))
sys.exit(failed)
