#!/bin/bash
echo 'echo yes; sleep 600' > answer.sh
