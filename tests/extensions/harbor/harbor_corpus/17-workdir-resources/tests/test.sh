#!/bin/bash
limit=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null)
if [ "$PWD" = /srv/data ] && [ "$limit" = $((256 << 20)) ] && grep -qx 256 memory.txt; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
