"""docs/how-to/streams.md, held to the options and metrics that there are."""

from __future__ import annotations

import re
from pathlib import Path

from gantt.conf import list_opts
from gantt.observe import agent_signs, metrics
from gantt.stream.options import StreamOptions
from gantt.stream.topics import dead_letters_topic, reports_topic

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "streams.md").read_text(
    encoding="utf-8"
)


def options() -> dict[str, str]:
    """Names of options in the tables -> their default, as written."""
    found = re.findall(r"^\| (`[a-z_`, ]+`) \| ([^|]*?) *\| ", TEXT, re.MULTILINE)
    return {
        name: default.strip("`")
        for names, default in found
        for name in re.findall(r"`([a-z_]+)`", names)
        if name in StreamOptions.__struct_fields__
    }


def test_every_option_is_there_with_its_default() -> None:
    (known,) = (opts for group, opts in list_opts() if group == "stream")
    written = options()
    assert written.keys() == {one.dest for one in known}
    for name, default in written.items():
        if default:
            value = getattr(StreamOptions(), name)
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            assert shown.lower() == default, name


def test_every_metric_that_it_names_exists() -> None:
    gauges = {name for texts in metrics._GAUGES.values() for name in texts}
    agent = agent_signs.COUNTERS.keys() | agent_signs.GAUGES.keys()
    known = gauges | metrics._COUNTERS.keys() | {f"agent_{one}" for one in agent}
    named = re.findall(r"`gantt_([a-z_]*stream[a-z_]*|reports[a-z_]*)`", TEXT)
    assert {one.removesuffix("_total") for one in named} - known == set()
    assert {one for one in known if "stream" in one} <= {
        one.removesuffix("_total") for one in named
    } | {"watch_streams_cut"}


def test_topics_are_made_as_it_says() -> None:
    settings = dict(re.findall(r"--config ([a-z.]+)=(\w+)", TEXT))
    assert settings.items() >= dict(reports_topic(StreamOptions()).settings).items()
    assert dead_letters_topic(StreamOptions()).partitions == 1
