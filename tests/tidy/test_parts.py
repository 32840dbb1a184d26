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
        amount_text text_columns flavor option_kinds typed_options start
            stop_signals streams time_text command_traces
        output connection_options
        program
        bench_text completion database failure instance_lookup replay_text topology_text
            what_if_engines
        adoption agent bench feed refusal replay_packing replay_records
            scheduler serve command_session snapshot status
        allocation audit candidates capacity_forecast capacity_prices
            capacity_split decision inventory labels manage page_options replay
            shadow top usage watch
        demand fleet host place provider select what_if_capacity
        capacity instances launch
        main
    """,
    "client": """
        clouds encode transport
        decode exchange
        native_calls remote_providers placement_books
        remote_allocations
        remote_scheduling
        remote
        scheduler
        async_client
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
        clock memberships observer options threads uuids
        kept_answer reading
        commit recording table_check log_watch
        books scheduling
        audit_methods background clock_watch fleet_methods fleet_map_methods
            health recent_methods scheduling_cycle shadow takeover_methods
        advice engine_protocol place_methods report_intake whole_fleet
        waiting_methods
        gantt
        factory
    """,
    "launch": """
        launch_claims contract
        outcome process simulated launcher_call
        launchers launching
    """,
    "liveness": """
        options repeating_thread
        group
        membership watcher
        watcher_setup
    """,
    "model": """
        addresses artifacts bounds fleet_map holding log_context names operation paging
            printable quantities recent relations requests rows topology
            topology_view usage_history
        answers audit booking changes cpu_sets demand_relations diagnosis fleet_lists
            hosts request_identity spec takeover
        advice capacity demand fleet needs record reports selection shadow watching
            whole_host
        placements
        demand_queue
        commands facts
        scheduling
        forms operation_bodies protocol
        advice_operations domain_operations place_operations
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
        amount_source claimed_hosts drift fleet_queries group_rules pause start_caps
            queries reported_room usages
        artifact_queries candidates domain_queries domain_rules fleet_pages map_columns
            topology_answer listings ownership
        known_instances named_placements host_moves usage_samples host_details
        audit_queries demand_queries
        rules
        fleet_news recent_changes
    """,
    "replay": """
        replay_books events measures process_records redecision_results
        recorded_changes machines
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
        evaluation report_needs
        pauses
        relations
        selection
        joint sent_hosts
        explain
        capacity cycle
    """,
    "state": """
        column holdings waiting_demands listers name_table promises report_decoder
        fleet_tables
        allocation_columns bits factors inventory_columns provider_columns
            topology_columns
        fact_table host_table tree_rooms
        domains
        fleet_columns
        fleet_snapshot state
        check_fleet slot_amounts supposition
        check view
    """,
    "store": """
        columns interface outcomes time_columns
        database tables
        session
        background head loader row_writer
        changelog migrations
        schema
        adoption memory_store sql_store
        snapshot_store
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
        devices pinning lack_text
        cells
        fit host_remainder
        promised_topology
        reported_claims
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
