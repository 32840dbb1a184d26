"""Seeded runs of several engines on one database, with faults, and a checker.

The engines are the real ones: clock, threads, locks and the database's driver are the
simulator's, so that one seed is one schedule. ``world`` says who runs when, ``faults``
what goes wrong, ``history`` what was seen, ``checker`` whether it may be so.
"""
