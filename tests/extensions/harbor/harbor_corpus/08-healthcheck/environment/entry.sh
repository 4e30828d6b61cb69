#!/bin/sh
(sleep 1; echo ready > /run/token) &
exec "$@"
