"""The same on other machines: what is sent, who measures it, and what comes back."""
