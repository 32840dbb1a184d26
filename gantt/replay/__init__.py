"""Arrivals and departures, decided again: what a fleet and a policy would have done.

A replay runs the scheduler's own cycle and the committer's own rules on a State in
memory, one request after the other, at the times of the trace. It needs no database, no
threads and no clock, so that the same trace, fleet, policy and seed give the same
decisions, bit for bit.
"""
