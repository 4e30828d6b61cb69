#!/bin/bash
bytes=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null)
echo $((bytes >> 20)) > memory.txt
