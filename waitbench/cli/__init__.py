"""What each command does: calls the stations in order, and hands data from one to the next."""
