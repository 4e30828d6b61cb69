#!/bin/bash
cat > area.py <<'PY'
import math
square = lambda a: a * a
circle = lambda r: math.pi * square(r)
PY
