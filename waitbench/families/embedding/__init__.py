"""Family ``embedding``: workers that wait for a service."""
