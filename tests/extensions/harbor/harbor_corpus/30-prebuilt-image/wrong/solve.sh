#!/bin/bash
cp data/list.txt /etc/sorted.txt
