#!/bin/bash

# The tests import the program from the repository, so they go there.
cp -r $TEST_DIR/files/. . && python -m pytest -rA THE_TESTS
