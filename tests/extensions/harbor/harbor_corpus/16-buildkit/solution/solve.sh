#!/bin/bash
echo "words = ['tea', 'milk', 'sugar']" > words.py
count > count.txt
