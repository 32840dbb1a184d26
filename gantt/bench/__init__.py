"""``gantt bench``: Gantt beside upstream Placement, Nova's own filters and plain
Python, in one run on the same fleets and requests.

    fleets, workloads   what is measured on, and what is asked: values, by seed
    *_side              one program each that can be asked; ``sides`` opens them
    comparing           sides take turns; medians, spread, ratios of what is equal
    plan                which comparisons are made
    report, page        the file, and the same as HTML; figures as text
    stages, profiling   where the time of each path goes
"""
