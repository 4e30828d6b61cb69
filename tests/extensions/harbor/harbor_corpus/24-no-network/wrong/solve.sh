#!/bin/bash
echo open > reached.txt
echo no > local.txt
