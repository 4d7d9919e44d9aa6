"""Find the cycles of a directed graph in linear time."""

from __future__ import annotations

from collections.abc import Sequence


def components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected components; ``edges[n]`` are the nodes that n leads to.

    This is Tarjan's algorithm with a stack of its own in the place of recursion.
    """
    found: list[list[int]] = []
    index = [-1] * len(edges)
    lowest = [0] * len(edges)
    is_open = bytearray(len(edges))
    open_nodes: list[int] = []
    count = 0
    for root in range(len(edges)):
        if index[root] >= 0:
            continue
        path = [(root, 0)]
        while path:
            node, position = path.pop()
            if position == 0:
                index[node] = lowest[node] = count
                count += 1
                open_nodes.append(node)
                is_open[node] = True
            descends = False
            for target in edges[node][position:]:
                position += 1
                if index[target] < 0:
                    path.append((node, position))
                    path.append((target, 0))
                    descends = True
                    break
                if is_open[target]:
                    lowest[node] = min(lowest[node], index[target])
            if descends:
                continue
            if path:
                parent = path[-1][0]
                lowest[parent] = min(lowest[parent], lowest[node])
            if lowest[node] == index[node]:
                found.append(_close(node, open_nodes, is_open))
    return found


def _close(node: int, open_nodes: list[int], is_open: bytearray) -> list[int]:
    component = []
    while True:
        member = open_nodes.pop()
        is_open[member] = False
        component.append(member)
        if member == node:
            return component
