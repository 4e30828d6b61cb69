#!/bin/bash
cd /app && git apply /tests/tests.patch && python -m pytest -rA tests
