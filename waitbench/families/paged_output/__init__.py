"""Family ``paged-output``: workers that wait for their output device."""
