#!/bin/bash
if cmp note.txt /tests/note.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
