#!/bin/bash
sleep 600
echo first > first.txt
