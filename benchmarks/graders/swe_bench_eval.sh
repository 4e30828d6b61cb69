#!/bin/bash
set -uxo pipefail
git config --global --add safe.directory /testbed
cd /testbed
git status
git show
git -c core.fileMode=false diff HEAD
THE_RESET
git apply -v - <<'EOF_114329324912'
THE_PATCH
EOF_114329324912
: '>>>>> Start Test Output'
python -m pytest -rA THE_FILES
: '>>>>> End Test Output'
THE_RESET
