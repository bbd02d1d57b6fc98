"""Tables, sentences, charts and pages of results."""
