#!/bin/bash
set -e
set -- $(cat /app/in/text.txt)
echo $# > /app/count.txt
