"""A real Apache Kafka broker, and what sends a run's messages through it."""
