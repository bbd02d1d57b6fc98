#!/bin/sh
# kafka_console.sh wait|poke CONSUMER PORT, with the tools that lie beside Kafka's console consumer.
# To poke starts a JVM first, which the lateness includes.
set -eu
tools=$(dirname "$2")
if [ "$1" = wait ]; then
  "$tools/kafka-topics.sh" --bootstrap-server "127.0.0.1:$3" --create --topic idle
  exec "$2" --bootstrap-server "127.0.0.1:$3" --topic idle --group idle
fi
echo "Hello there" | "$tools/kafka-console-producer.sh" --bootstrap-server "127.0.0.1:$3" --topic idle
