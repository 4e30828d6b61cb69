#!/bin/bash
if cmp -s note.txt /tests/note.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
