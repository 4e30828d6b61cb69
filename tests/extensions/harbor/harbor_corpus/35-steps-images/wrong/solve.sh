#!/bin/bash
echo one | tee one.txt > two.txt
