"""Features: packages that use the core, and that nothing imports but by their names here.

To delete one, delete its folder here and in tests/features, its lines, and its document.
"""

COMMANDS = {
    "history": "waitbench.features.history.history",
    "track": "waitbench.features.history.track",
    "bisect": "waitbench.features.bisect.bisect",
    "look": "waitbench.features.look.look",
    "merge": "waitbench.features.cluster.merge",
    "workers": "waitbench.features.workers.workers",
}
"""Commands, each with the module that has a function of its name."""
FUNCTIONS = {"look": "waitbench.features.look.observe"}
"""Functions of ``waitbench``, each with the module that has it."""
EXTENSIONS = (
    "waitbench.features.scan.extension:ScanExtension",
    "waitbench.features.why.extension:WhyExtension",
    "waitbench.features.cluster.extension:ClusterExtension",
)
"""Features that take part in every comparison: see ``pipeline.extension``."""
