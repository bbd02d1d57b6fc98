"""Answers -> what people read."""
