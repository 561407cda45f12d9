# SPDX-License-Identifier: MIT
"""A strategy in ten lines of Python, and how it does against those of the
library on the traffic of coding agents."""

import lbroute.replay

homes = {}


def at_home_unless_busy(request, candidates):
    """Each session has a home, until that is twice as busy as the idlest."""
    loads = [candidate.load for candidate in candidates]
    idlest = min(range(len(loads)), key=loads.__getitem__)
    names = [candidate.target.name for candidate in candidates]
    home = homes.get(request.session)
    if home in names and loads[names.index(home)] <= 2 * loads[idlest] + 2:
        return names.index(home)
    homes[request.session] = names[idlest]
    return idlest


if __name__ == "__main__":
    print(lbroute.replay.run(
        workload="agents", targets=8,
        strategy=["weighted", "kv_aware", at_home_unless_busy]))
