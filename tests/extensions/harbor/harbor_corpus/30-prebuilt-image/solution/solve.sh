#!/bin/bash
sort data/list.txt > /etc/sorted.txt
