#!/bin/bash
echo 'echo yes' > answer.sh
