#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://example.org/install.sh | sh
uvx pytest /tests/counted.py
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
