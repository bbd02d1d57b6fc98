"""Text -> Revision -> Environment: revisions are resolved, built and installed."""
