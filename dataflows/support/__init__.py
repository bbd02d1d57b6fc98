"""Parts that all dataflows share. They import nothing but the standard library and bytewax."""
