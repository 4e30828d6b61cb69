#!/bin/bash
echo goodbye > hello.txt
