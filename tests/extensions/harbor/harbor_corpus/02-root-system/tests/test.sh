#!/bin/bash
score=0
dpkg-query -W -f '${Status}' greeter | grep -qx 'install ok installed' && score=$((score + 1))
[ "$(hallo)" = "Guten Tag" ] && score=$((score + 1))
getent passwd greeter > /dev/null && score=$((score + 1))
[ "$(readlink /usr/local/bin/hallo)" = /usr/bin/greeter ] && score=$((score + 1))
echo "0.$((score * 25))" | sed 's/0.100/1.0/' > /logs/verifier/reward.txt
