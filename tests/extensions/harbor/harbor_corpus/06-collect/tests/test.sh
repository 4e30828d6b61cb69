#!/bin/bash
if grep -qxF '{"cup": 3, "pot": 8}' /logs/artifacts/sold.json; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
