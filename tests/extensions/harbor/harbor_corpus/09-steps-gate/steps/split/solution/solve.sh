#!/bin/bash
tr , '\n' < numbers.csv > numbers.txt
