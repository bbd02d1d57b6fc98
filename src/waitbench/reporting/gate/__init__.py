"""A GateVerdict -> wherever it is read. One module a form."""
