"""Environment x Scenario -> Measurement or Outcome: runs, one after the other."""
