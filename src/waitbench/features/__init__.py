"""Optional features. The rest of waitbench knows them only by the names in this module.

CONTRIBUTING.md says how to add or delete a feature.
"""

COMMANDS = {
    "history": "waitbench.features.history.history",
    "track": "waitbench.features.history.track",
    "bisect": "waitbench.features.bisect.bisect",
    "look": "waitbench.features.look.look",
    "merge": "waitbench.features.cluster.merge",
    "workers": "waitbench.features.workers.workers",
}
"""The module of each command. It has a function with the name of the command."""
FUNCTIONS = {"look": "waitbench.features.look.observe"}
"""The module of each function that ``import waitbench`` offers."""
EXTENSIONS = (
    "waitbench.features.scan.extension:ScanExtension",
    "waitbench.features.why.extension:WhyExtension",
    "waitbench.features.cluster.extension:ClusterExtension",
)
"""Classes that extend every comparison: subclasses of ``pipeline.extension.Extension``."""
