#!/bin/bash
cat > area.py <<'PY'
def square(a):
    return a * a



def circle(r):
    return 3 * r * r
PY
