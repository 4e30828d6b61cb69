#!/bin/bash
echo hello > hello.txt
exit 4
