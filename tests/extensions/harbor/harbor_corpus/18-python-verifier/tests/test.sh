#!/usr/bin/env python3
import json
from pathlib import Path

logs = Path("/logs/verifier")
logs.joinpath("reward.txt").write_text("1\n")  # reward.json has priority
listed = Path("primes.json")
if listed.exists():
    numbers = set(json.loads(listed.read_text()))
    right = [n for n in numbers if n > 1 and all(n % k for k in range(2, n))]
    ratio = len(right) / len(numbers) if numbers else float("nan")
else:
    right, ratio = [], 0.0
logs.joinpath("reward.json").write_text(json.dumps({"count": min(len(right), 4) / 4, "ratio": ratio}))
