#!/bin/bash
# Succeeds only if the first step failed: the rest of the trial is broken after a right one.
[ ! -e first ]
