#!/bin/sh
# kafka_console.sh wait|poke JAVA PORT FOLDER: Kafka's console tools, on what the broker runs on, which
# FOLDER/jars names. To poke starts a JVM first, which the lateness includes.
set -eu
class=org.apache.kafka.tools java=$2 server=127.0.0.1:$3
jars=$(cat "$4/jars")
# The heap that Kafka's own scripts give them.
set -- "$1" -Xmx512M -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$jars/*"
case $1 in
  wait)
    shift
    exec "$java" "$@" $class.consumer.ConsoleConsumer --bootstrap-server "$server" \
      --topic messages --group idle --from-beginning
    ;;
  poke)
    shift
    echo "Hello there" | "$java" "$@" $class.ConsoleProducer --bootstrap-server "$server" --topic messages
    ;;
esac
