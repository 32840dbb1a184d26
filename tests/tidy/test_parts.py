"""Inside a room, too, imports point down: its parts have an order.

A part is a folder of the room, or a module that lies in it. It sees the parts on lines
above its own, and no others; imports inside functions and for type checking count. A
new part needs a place here.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.tidy.source import Source, sources

# Room -> its parts, the lowest first.
ORDER = {
    "agent": """
        files
        collectors
        register report workloads
        machine
        reporter
        loop
    """,
    "api": """
        watchers wire
        call
        access handlers
        middleware native
        routes ui
        app
        hosting
    """,
    "bench": """
        chart bench_fleets servers path_stages
        fleet_setup http_client path_profile workloads
        bare_threads gantt_side placement_side plain_side side
        comparison nova_side paths
        sides
        machine_facts plan
        bench_report
        figures runner
        page
    """,
    "cli": """
        amount_text columns flavor option_kinds typed_options start stop_signals streams
            time_text command_traces
        output connection_options
        program
        bench_text completion database failure replay_text topology_text
            what_if_engines
        adoption agent bench feed refusal replay_packing replay_records
            scheduler serve command_session snapshot status
        allocation audit candidates capacity_forecast capacity_prices
            capacity_split decision inventory labels manage page_options replay
            shadow top usage watch what_if_select
        fleet host provider select what_if_capacity
        capacity instances launch
        main
    """,
    "client": """
        clouds encode transport
        decode exchange
        native providers remote_books
        allocations
        scheduling
        remote
        scheduler
    """,
    "conf": """
        references option_table unknown_options values
        advice_settings guests credentials service_sessions rpc
            scheduler_settings stream suspect_values
        known_values feed_settings
        options
        setting_sources
    """,
    "engine": """
        clock memberships observing options threads uuids
        reading
        commit recording verify watching
        books scheduling
        auditing background clock_watch fleet fleet_map health scheduling_cycle
            shadow takeovers
        advice protocol reporting whole_fleet
        gantt
        opening
    """,
    "launch": """
        claiming contract
        outcome process simulated starting
        launchers launching
    """,
    "liveness": """
        options repeating_thread group_verdict
        group
        membership watcher
        watcher_setup
    """,
    "model": """
        addresses bounds fleet_map holding names operation paging printable
            quantities requests rows topology topology_view usage_history
        answers audit booking changes cpu_sets diagnosis fleet_lists hosts
            request_identity spec takeover
        advice capacity fleet needs record reports selection shadow watching
            whole_host
        commands facts scheduling
        forms operation_bodies protocol
        operations
    """,
    "observe": """
        agent_signs launch_signs load_progress logs milestones mirrored_counts
            run_folder signal_pipe supervisor tracing
        context_lines metrics
        endpoint log_file
    """,
    "openstack": """
        feed neutron
        discovery meters routed_networks
        presence
        rpc
        nova_notifications
    """,
    "placement": """
        amount_source claimed drift fleet_queries groups pause queries
            reported usages
        candidates fleet_lists fleet_map host_topology listings ownership
        known_instances moves usage_history whole_host
        audit
        rules
        fleet_news
    """,
    "replay": """
        replay_books events measures process_records redecision_results pause_changes
        recorded_changes group_members machines
        fleet_files readers machine_reports snapshots
        run traces what_if
        decision_files record_report redecision replay_report what_if_run what_if_file
        decision_differences packing trace_trial
    """,
    "scheduler": """
        host_columns options stages
        hosts
        contract held_host request
        feasibility
        scoring
        plugins
        evaluation needs
        pauses
        selection
        advising
        explain
        capacity cycle
    """,
    "state": """
        column fleet_tables listers names promises reports
        allocations bits factors inventories providers topology_columns
        facts host_table tree_rooms
        fleet
        fleet_snapshot state
        check_fleet slot_amounts supposed
        check view
    """,
    "store": """
        columns interface outcomes times
        database tables
        session
        background head load write
        changelog migrations
        schema
        adoption memory sql
        snapshot
    """,
    "stream": """
        options client_status
        broker_connection
        dead_letters report_producer topic_watch topics
        changes report_consumer
        service_streams
    """,
    "testing": """
        worlds
        checks
        driver_check
    """,
    "topology": """
        devices pinning words
        cells
        fit take
        pending
        counting
    """,
}


def _rooms() -> dict[str, list[Source]]:
    found: dict[str, list[Source]] = defaultdict(list)
    for source in sources():
        if len(source.parts) > 1 and source.parts[1] != "__init__":
            found[source.parts[0]].append(source)
    return found


def _ranks(room: str) -> dict[str, int]:
    """Indented lines go on with the one before."""
    found: dict[str, int] = {}
    rank = 0
    for line in ORDER[room].strip("\n").splitlines():
        rank += not line.startswith(" " * 12)
        found |= dict.fromkeys(line.split(), rank)
    return found


@pytest.mark.parametrize("room", ORDER)
def test_parts_import_those_below_alone(room: str) -> None:
    ranks, up = _ranks(room), []
    for source in _rooms()[room]:
        part = source.parts[1]
        for line, name in source.imports():
            its_room, _, rest = name.removeprefix("gantt.").partition(".")
            other = rest.partition(".")[0]
            is_other = its_room == room and other in ranks and other != part
            if is_other and ranks[other] >= ranks[part]:
                up.append(f"{source.at(line)}: {part} imports {other}")
    assert up == []


@pytest.mark.parametrize("room", ORDER)
def test_every_part_has_a_place(room: str) -> None:
    parts = {source.parts[1] for source in _rooms()[room]}
    assert parts == _ranks(room).keys()


def test_every_room_with_parts_has_an_order() -> None:
    several = {
        room
        for room, inside in _rooms().items()
        if len({source.parts[1] for source in inside}) > 1
    }
    assert several == ORDER.keys()
