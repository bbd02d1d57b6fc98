"""What a search for a change found, in every form: console, Markdown, plain data."""
