"""Distributes a comparison over several machines. Each measures a shard: some of the scenarios."""
