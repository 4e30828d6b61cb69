#!/bin/bash
python3 -c 'print(sum(map(int, open("numbers.txt"))))' > sum.txt
