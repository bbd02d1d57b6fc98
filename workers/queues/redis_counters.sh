#!/bin/sh
# Prints what a Redis has been asked, and how much went to and fro: redis_counters.sh PORT
redis-cli -p "$1" info stats | tr -d '\r' | awk -F: '
  /^total_commands_processed:/ { print "requests", $2 }
  /^total_net_(in|out)put_bytes:/ { bytes += $2 }
  END { print "bytes", bytes }
'
