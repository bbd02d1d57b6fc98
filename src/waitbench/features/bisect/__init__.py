"""Finds the release, or the commit, that changed a cost."""
