#!/bin/bash
exec 2>&1
cd /testbed
git apply - <<'END_OF_PATCH'
THE_PATCH
END_OF_PATCH
: '>>>>> Start Test Output'
python -m pytest -rA tests
: '>>>>> End Test Output'
