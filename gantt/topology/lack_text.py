"""What a host lacks, as a sentence for people.

Apart from the fit, which gives amounts: refusals, explanations and the command line say
them in the same words.
"""

from __future__ import annotations

from gantt.model.quantities import memory
from gantt.model.topology import FitLack


def sentence(lack: FitLack) -> str:
    """For example: cell 1 has 3 of 4 free pinned CPUs; 2 MB pages: 512 of 1,024."""
    # Instance cells that compete: the further lack is that of a host cell.
    if lack.cell is None:
        return "; ".join([_whole(lack), *map(sentence, lack.more)])
    first, *more = (_part(one) for one in (lack, *lack.more))
    return "; ".join([f"cell {lack.cell} has {first}", *more])


def _amounts(lack: FitLack) -> str:
    return f"{lack.has:,} of {lack.asked:,}"


def _part(lack: FitLack) -> str:
    match lack.what:
        case "cpus":
            return f"{_amounts(lack)} free pinned CPUs"
        case "siblings" if lack.detail == "isolate":
            return f"{_amounts(lack)} free cores for isolated CPUs"
        case "siblings" if lack.detail == "require":
            return f"{_amounts(lack)} free pinned CPUs with siblings"
        case "siblings" if lack.detail == "to isolate":
            return "nothing to isolate: the instance's cell has no pinned CPU"
        case "siblings":
            return f"{_amounts(lack)} free pinned CPUs with the emulator's"
        case "shared_cpus":
            return f"{_amounts(lack)} shared CPUs"
        case "pages":
            return f"{lack.detail} pages: {_amounts(lack)}"
        case "page_size" if lack.unit == "MB":
            asked = memory(lack.asked, is_exact=True)
            return f"{lack.detail} pages that do not divide {asked}"
        case "page_size":
            return f"no {_with_pages(lack.detail)}"
    return f"{memory(lack.has)} of {memory(lack.asked)} memory"


def _with_pages(detail: str) -> str:
    return detail if detail.endswith("pages") else f"{detail} pages"


def _whole(lack: FitLack) -> str:
    match lack.what:
        case "devices":
            return f"the host has {_amounts(lack)} devices {lack.detail}"
        case "networks":
            return f"no cells with room are near {lack.detail}"
        case "pending":
            return "pending claims do not fit the last report of the host"
        case "search":
            return (
                f"the search ended after {lack.has:,} steps (topology_steps); "
                f"{lack.asked:,} placements of the cells are possible"
            )
    return f"the host has {_amounts(lack)} NUMA cells that can carry the instance's"
