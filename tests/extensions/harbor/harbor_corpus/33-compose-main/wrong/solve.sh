#!/bin/bash
cp /shared/seed /shared/result
hostname > host.txt
