"""Folders of shares, made of one comparison by hand."""

from pathlib import Path

from msgspec import structs

from waitbench.features.cluster.shards import deal
from waitbench.store import comparisons


def part(whole: Path, number: int) -> list[Path]:
    """Parts a folder of results as if so many shares had been measured."""
    contents = comparisons.read(whole)
    names = [scenario.name for scenario in contents.comparison.scenarios]
    folders = []
    for index in range(1, number + 1):
        share = deal(index, number, dict.fromkeys(names, 1.0))
        argv = (*contents.comparison.argv, "--shard", f"{index}/{number}")
        comparison = structs.replace(contents.comparison, argv=argv, share=share)
        records = [one for one in contents.records if one.scenario in share.scenarios]
        folder = whole.with_name(f"{whole.name}-{index}-of-{number}")
        folder.mkdir()
        comparisons.begin(folder, comparison, records)
        comparisons.finish(folder, records)
        folders.append(folder)
    return folders
