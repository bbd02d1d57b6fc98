"""Features: packages that use the core, and that nothing imports but by their names here.

To delete one, delete its folder here and in tests/features, and its line.
"""

COMMANDS = {
    "look": "waitbench.features.why.look",
}
"""Commands, each with the module that has a function of its name."""
EXTENSIONS = (
    "waitbench.features.scan.extension:ScanExtension",
    "waitbench.features.why.extension:WhyExtension",
)
"""What takes part in every comparison: see ``pipeline.extension``."""
