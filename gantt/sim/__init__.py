"""Seeded runs of several engines on one database, with faults, and a checker.

The engines are the real ones: clock, threads, locks and the database's driver are the
simulator's, so that one seed is one schedule. ``world`` schedules actors,
``fault_schedule`` injects faults, ``history`` records what callers saw, ``checker``
validates it.
"""
