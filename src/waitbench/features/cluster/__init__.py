"""Distributes a comparison over many machines, a shard each."""
