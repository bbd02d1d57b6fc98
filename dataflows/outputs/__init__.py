"""Ways to hand messages to an output device that acknowledges each write: one by one, or gathered into pages."""
