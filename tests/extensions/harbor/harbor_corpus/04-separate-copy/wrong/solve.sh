#!/bin/bash
echo 42 > total.txt  # not an artifact
echo done > /logs/artifacts/log.txt
