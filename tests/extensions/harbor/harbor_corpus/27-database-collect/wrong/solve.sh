#!/bin/bash
psql -c "insert into orders values ('kettle', 2), ('cup', 6), ('pot', 1)"
printf 'cup,5\nkettle,2\n' > /tmp/orders.csv  # in the agent's own container
