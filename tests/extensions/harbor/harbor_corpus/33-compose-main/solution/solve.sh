#!/bin/bash
echo $((2 * $(cat /shared/seed))) > /shared/result
hostname > host.txt
