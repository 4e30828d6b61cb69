#!/bin/sh
# Build the images of the corpus: services from Debian packages, where no image can be pulled, and
# the programs in services/. Needs agentbench/python:3.11, mmdebstrap, docker and a Debian mirror.
set -eu

debian() { # debian TAG PACKAGES
    mmdebstrap --variant=minbase --include="$2" bookworm - ${APT_SOURCES:+"$APT_SOURCES"} |
        docker import --change 'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8' - "$1"
}

debian agentbench-tests/postgres:15 postgresql,python3
debian agentbench-tests/redis:7 redis-server
debian agentbench-tests/nftables:1 nftables,python3
for service in gost store; do
    docker build -t "agentbench-tests/$service:1" "$(dirname "$0")/services/$service"
done
