#!/bin/bash
cd /app && git apply - <<'END_OF_PATCH'
THE_PATCH
END_OF_PATCH
