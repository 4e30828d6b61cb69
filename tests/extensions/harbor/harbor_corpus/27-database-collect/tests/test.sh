#!/bin/bash
right=0
for order in cup,5 kettle,2; do grep -qx $order /tmp/orders.csv && right=$((right + 1)); done
echo "{\"orders\": $right, \"only\": $([ "$(wc -l < /tmp/orders.csv)" = 2 ] && echo 1 || echo 0)}" > /logs/verifier/reward.json
