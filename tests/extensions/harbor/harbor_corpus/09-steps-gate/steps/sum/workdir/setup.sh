#!/bin/bash
[ ! -e /tests/test.sh ]  # the tests of the step before are gone
echo 16 >> numbers.txt
