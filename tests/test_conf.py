"""Where options come from, and that an existing placement.conf is understood."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gantt.conf import (
    GANTT,
    ApiOptions,
    ConfigSource,
    ServeOptions,
    list_opts,
    load,
)
from gantt.errors import Refused
from gantt.model.addresses import split_listen

UPSTREAM = """
[DEFAULT]
debug = true
log_file = /var/log/placement/placement-api.log
state_path = /srv/state
log_options = false
[api]
auth_strategy = keystone
[cors]
allowed_origin = https://a.example,https://b.example
[keystone_authtoken]
www_authenticate_uri = https://keystone.example/
username = placement
password = secret
[oslo_middleware]
enable_proxy_headers_parsing = true
[oslo_policy]
enforce_scope = false
enforce_new_defaults = false
policy_file = /etc/placement/policy.yaml
[placement]
randomize_allocation_candidates = true
incomplete_consumer_project_id = lost
incomplete_consumer_user_id = found
allocation_conflict_retry_count = 3
max_allocation_candidates = 1000
allocation_candidates_generation_strategy = breadth-first
[placement_database]
connection = sqlite:///$state_path/p.db
connection_parameters =
slave_connection = sqlite:////slave.db
sqlite_synchronous = true
mysql_sql_mode = TRADITIONAL
connection_recycle_time = 3600
max_pool_size = 5
max_retries = 10
retry_interval = 10
max_overflow = 50
connection_debug = 0
connection_trace = false
pool_timeout = 10
sync_on_startup = true
[workarounds]
optimize_for_wide_provider_trees = true
[profiler]
enabled = false
"""


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_placement_conf_is_read(tmp_path: Path) -> None:
    write(tmp_path / "placement.conf", UPSTREAM)
    found = load(environ={"OS_PLACEMENT_CONFIG_DIR": str(tmp_path)})
    assert found.database_url == "sqlite:////srv/state/p.db"
    assert found.api == ApiOptions(
        incomplete_consumer_project_id="lost",
        incomplete_consumer_user_id="found",
        max_allocation_candidates=1000,
        allocation_candidates_generation_strategy="breadth-first",
        randomize_allocation_candidates=True,
    )
    assert found.api.breadth_first
    assert found.auth.strategy == "keystone"
    assert found.allowed_origin == ("https://a.example", "https://b.example")
    assert found.proxy_headers
    assert not found.enforce_scope
    assert not found.enforce_new_defaults
    assert found.engine.commit_attempts == 3
    assert found.engine.store.create
    assert found.engine.store.pool_size == 5


def test_defaults() -> None:
    found = load(environ={"OS_GANTT_CONFIG_DIR": "/nowhere"})
    assert found.files == ()
    assert found.api == ApiOptions()
    assert found.serve == ServeOptions("127.0.0.1", 8778, 1, 64)
    assert found.auth.strategy == "keystone"
    assert found.engine.freshness == "strict"
    assert found.database_url == ""
    assert not found.allowed_origin


def test_default_strategy_applies_only_without_files(tmp_path: Path) -> None:
    nowhere = {"OS_GANTT_CONFIG_DIR": str(tmp_path)}
    found = load(environ=nowhere, default_auth="noauth2")
    assert found.auth.strategy == "noauth2"
    write(tmp_path / "gantt.conf", "[placement]\n")
    found = load(environ=nowhere, default_auth="noauth2")
    assert found.auth.strategy == "keystone"


def test_later_sources_take_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {
        "OS_PLACEMENT_CONFIG_DIR": str(tmp_path / "p"),
        "OS_GANTT_CONFIG_DIR": str(tmp_path / "g"),
    }
    write(tmp_path / "p/placement.conf", "[gantt]\nworkers=2\nbatch_size=2\n")
    write(tmp_path / "g/gantt.conf", "[gantt]\nbatch_size = 3\nbound_ms = 3\n")
    write(tmp_path / "g/gantt.conf.d/a.conf", "[gantt]\nbound_ms = 4\n")
    found = load(environ=environ)
    numbers = (found.serve.workers, found.engine.batch_size, found.engine.bound_ms)
    assert numbers == (2, 3, 4)
    monkeypatch.setenv("OS_GANTT__BOUND_MS", "5")
    assert load(environ=environ).engine.bound_ms == 5
    found = load(environ=environ, overrides={("gantt", "bound_ms"): 6})
    assert found.engine.bound_ms == 6


ELSEWHERE = set(
    (
        "listen tokens_file freshness advice_from patient advice_placement "
        "advice_weights advice_subset_size report_also packing usual_flavors "
        "image_locality cold_artifacts"
    ).split()
)


@pytest.mark.parametrize(
    ("threads", "wanted", "patient"),
    [(64, 32, 32), (4096, 100, 100), (64, 7, 7), (8, 32, 4), (1, 32, 1)],
)
def test_at_most_half_of_the_threads_wait_for_a_stalled_database(
    threads: int, wanted: int, patient: int
) -> None:
    overrides = {("gantt", "blocking_threads"): threads, ("gantt", "patient"): wanted}
    assert load(environ={}, overrides=overrides).engine.patient == patient


@pytest.mark.parametrize(
    "option",
    [option for option in GANTT if option.name not in ELSEWHERE],
    ids=lambda option: option.name,
)
def test_option_sets_the_field_of_its_name(option: Any) -> None:
    default = option.default
    value = not default if isinstance(default, bool) else 2 * default
    found = load(environ={}, overrides={("gantt", option.name): value})
    engine = found.engine
    more = (engine.advice, engine.shadow, engine.recording)
    values = (found.api, found.serve, found.auth, engine, engine.store, *more)
    (owner,) = [each for each in values if hasattr(each, option.name)]
    assert getattr(owner, option.name) == value


def test_options_of_advice_become_values() -> None:
    given = {
        ("gantt", "advice_from"): ["10.0.0.0/24"],
        ("gantt", "advice_placement"): "other",
        ("gantt", "advice_weights"): "add",
        ("gantt", "workers"): 3,
    }
    found = load(environ={}, overrides=given)
    advice = found.engine.advice
    assert found.auth.advice_from == ("10.0.0.0/24",)
    for strategy, trusted in (
        ("noauth2", ("127.0.0.0/8", "::1")),
        ("keystone", ()),
    ):
        by_default = load(environ={}, default_auth=strategy)
        assert by_default.auth.advice_from == trusted
    assert (advice.advice_placement, advice.advice_weights) == ("other", "add")
    assert advice.advice_subset_size == 3  # workers do not see each other's holds
    more = {**given, ("gantt", "advice_subset_size"): 2}
    assert load(environ={}, overrides=more).engine.advice.advice_subset_size == 2


def test_answers_are_only_shortened_where_the_books_are_sure() -> None:
    given = {
        ("gantt", "advice_placement"): "other",
        ("gantt", "advice_shortens"): True,
    }
    with pytest.raises(Refused, match="advice_placement = own"):
        load(environ={}, overrides=given)


def test_memory_database_is_not_polled() -> None:
    url = ("placement_database", "connection")
    assert load(environ={}, overrides={url: "sqlite:///g.db"}).engine.poll_ms == 20
    assert load(environ={}, overrides={url: "memory://"}).engine.poll_ms == 0


def test_pool_size_zero_means_one_connection_per_thread() -> None:
    given = {("placement_database", "max_pool_size"): 0}
    found = load(environ={}, overrides={**given, ("gantt", "blocking_threads"): 7})
    assert found.engine.store.pool_size == 7


def test_given_file_replaces_the_default_files(tmp_path: Path) -> None:
    write(tmp_path / "gantt.conf", "[gantt]\nworkers = 3\n")
    given = write(tmp_path / "other.conf", "[gantt]\nbatch_size = 9\n")
    found = load([given], environ={"OS_GANTT_CONFIG_DIR": str(tmp_path)})
    assert (found.serve.workers, found.engine.batch_size) == (1, 9)
    assert ConfigSource((given,)).load().engine.batch_size == 9


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [("gantt", "no_such", 1), ("gantt", "workers", 0), ("api", "auth_strategy", "x")],
)
def test_invalid_override_is_refused(group: str, name: str, value: object) -> None:
    with pytest.raises(Refused):
        load(environ={}, overrides={(group, name): value})


@pytest.mark.parametrize(
    "text",
    [
        "[api]\nauth_strategy = nonsense\n",
        "[gantt]\nworkers = many\n",
        "[gantt]\nworkers = 0\n",
        "[gantt]\ndrain_s = 86401\n",
        "[gantt]\nbody_timeout_s = 0.01\n",
        "[placement]\nmax_allocation_candidates = -2\n",
        "[gantt]\nlisten = nowhere\n",
        "[placement]\nallocation_candidates_generation_strategy = random\n",
        "no section",
    ],
)
def test_invalid_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused):
        load([write(tmp_path / "bad.conf", text)])


@pytest.mark.parametrize("name", ["answer_timeout_s", "lock_timeout_s"])
@pytest.mark.parametrize("value", ["nan", "inf", "9" * 40])
def test_non_finite_time_is_refused(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "bad.conf").write_text(f"[gantt]\n{name} = {value}\n")
    with pytest.raises(Refused, match=name):
        load([str(tmp_path / "bad.conf")], environ={})


def test_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.conf").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refused, match="cannot be read"):
        load([str(tmp_path / "bad.conf")], environ={})


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"gone\.conf"):
        load([str(tmp_path / "gone.conf")])


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("127.0.0.1:8778", ("127.0.0.1", 8778)),
        ("[::1]:80", ("::1", 80)),
        ("example.org:1", ("example.org", 1)),
    ],
)
def test_listen(listen: str, expected: tuple[str, int]) -> None:
    assert split_listen(listen) == expected


@pytest.mark.parametrize("listen", ["", "8778", ":8778", "a:b", "a:70000", "a:-1"])
def test_listen_requires_host_and_port(listen: str) -> None:
    with pytest.raises(Refused):
        split_listen(listen)


def test_loading_is_not_global(tmp_path: Path) -> None:
    from oslo_config import cfg

    load([write(tmp_path / "a.conf", "[gantt]\nworkers = 3\n")])
    # A group of this name is there once Nova has loaded the plug-in.
    assert "gantt" not in cfg.CONF or "workers" not in cfg.CONF.gantt
    assert load(environ={}).serve.workers == 1


def test_sample_configuration_can_be_generated() -> None:
    declared = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    (place,) = declared["entry-points"]["oslo.config.opts"].values()
    module, _, name = place.partition(":")
    assert getattr(importlib.import_module(module), name) is list_opts


def test_every_option_has_help() -> None:
    for _, options in list_opts():
        assert all(option.help for option in options)
