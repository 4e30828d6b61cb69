#!/bin/bash
echo '{"port": 8080}' > config.json
