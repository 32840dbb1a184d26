"""Kafka: reports of hosts come in, and the change log goes out."""
