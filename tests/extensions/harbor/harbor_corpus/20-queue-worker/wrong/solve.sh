#!/bin/bash
exec 3<> /dev/tcp/queue/6379
printf 'SET sent 2\r\nRPUSH jobs 3 4\r\nQUIT\r\n' >&3
cat <&3
echo 3 > log.txt
