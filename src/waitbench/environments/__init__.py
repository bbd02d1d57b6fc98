"""Text -> Revision -> Environment: what was named, resolved, built and installed."""
