"""A comparison measured by many machines, shard by shard."""
