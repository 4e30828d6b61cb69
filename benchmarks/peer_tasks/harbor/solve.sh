#!/bin/bash
cd /app && git apply /solution/solution.patch
