#!/bin/bash
echo first > first.txt
sleep 600
