#!/bin/bash
echo changed > notes.txt
mkdir report
echo 42 > report/total.txt
echo done > /logs/artifacts/log.txt
