#!/bin/bash
count > count.txt
