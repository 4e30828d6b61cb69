#!/bin/sh
# Build the missing images of tests with services: from Debian packages, where no image can be pulled,
# and from the programs in this folder. Needs agentbench/python:3.11, mmdebstrap, docker and a Debian mirror.
set -eu

exists() {
    docker image inspect "$1" > /dev/null 2>&1
}

debian() { # debian SUITE PACKAGES TAG
    if exists "$3"; then return; fi
    mmdebstrap --quiet --variant=minbase --include="$2" "$1" - |
        docker import --change 'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8' - "$3"
}

debian bookworm postgresql,python3 agentbench-tests/postgres:15
debian bookworm redis-server agentbench-tests/redis:7
debian trixie nftables,python3 agentbench-tests/nftables:1  # Harbor's rules need nft 1.1
for service in gost store; do
    if exists "agentbench-tests/$service:1"; then continue; fi
    docker build --quiet -t "agentbench-tests/$service:1" "$(dirname "$0")/$service"
done
