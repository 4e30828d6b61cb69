import json
import math
import sys
from pathlib import Path

sys.path.insert(0, "/app")
rewards = {"reward": 0.0, "length": 0, "style": False}
try:
    import area

    right = [area.square(3) == 9, math.isclose(area.circle(2), 4 * math.pi)]
    lines = Path("/app/area.py").read_text().splitlines()
    rewards = {"reward": sum(right) / 2, "length": -len(lines), "style": len(lines) <= 6}
except ImportError:
    pass
print(json.dumps(rewards))
