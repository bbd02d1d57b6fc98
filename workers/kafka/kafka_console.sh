#!/bin/sh
# kafka_console.sh wait|poke JAVA PORT FOLDER: Kafka's console tools, on what the broker runs on, which
# FOLDER/jars names. To poke starts a JVM first, which the lateness includes.
set -eu
jars=$(cat "$4/jars")
version=$(basename "$jars"/kafka-clients-*.jar .jar)
version=${version#kafka-clients-}
tools=$HOME/.m2/repository/org/apache/kafka/kafka-tools/$version/kafka-tools-$version.jar
if ! [ -f "$tools" ]; then
  echo "Kafka's console tools are not here. This fetches them: mvn" \
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get -Dtransitive=false" \
    "-Dartifact=org.apache.kafka:kafka-tools:$version" >&2
  exit 1
fi
java=$2 server=127.0.0.1:$3
run() {
  # The heap that Kafka's own scripts give them.
  class=$1
  shift
  $begin "$java" -Xmx512M -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$jars/*:$tools" \
    "org.apache.kafka.tools.$class" "$@"
}
begin=
if [ "$1" = wait ]; then
  run TopicCommand --bootstrap-server "$server" --create --topic idle
  begin="exec"
  run consumer.ConsoleConsumer --bootstrap-server "$server" --topic idle --group idle
fi
echo "Hello there" | run ConsoleProducer --bootstrap-server "$server" --topic idle
