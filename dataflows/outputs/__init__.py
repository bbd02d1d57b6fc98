"""Ways to hand messages to a device that acknowledges each write: one by one, or in pages."""
