"""JSON of traces and memory timelines: mutate(bytes, random) changes its tree, and now and then its text."""

import copy
import json

from mutations import numbers
from mutations.dumps import changed_bytes


def places(tree, found=None):
    """All (container, key) in the tree, without recursion: it may be deep."""
    found, open_ = [], [tree]
    while open_:
        item = open_.pop()
        keys = item.keys() if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                open_.append(item[key])
    return found


def longest_list(tree):
    lists = [item for item in [tree] + [holder[key] for holder, key in places(tree)] if isinstance(item, list)]
    return max(lists, key=len, default=None)


def value(random, old):
    kind = random.randrange(10)
    if kind < 4:
        new = numbers.number(random, old if isinstance(old, int) and not isinstance(old, bool) else 0)
        return new if random.randrange(4) else str(new) if random.randrange(2) else new + 0.5
    if kind < 6:
        return numbers.text(random)
    if kind == 6:
        return random.choice((None, True, False, [], {}, "", 1e308, -1e308, 0.1))
    if kind == 7:
        return [numbers.number(random) for _ in range(numbers.length(random, 2000))]
    if kind == 8:
        return {numbers.text(random)[:20] + str(i): old for i in range(numbers.length(random, 500))}
    return nested(random, old)


def nested(random, inner):
    is_list = random.randrange(2)
    for _ in range(numbers.length(random, 200)):
        inner = [inner] if is_list else {"a": inner}
    return inner


def change_value(tree, random):
    everywhere = places(tree)
    if everywhere:
        holder, key = random.choice(everywhere)
        holder[key] = value(random, holder[key])


def change_key(tree, random):
    holders = [holder for holder, _ in places(tree) if isinstance(holder, dict)]
    if not holders:
        return
    holder, other = random.choice(holders), random.choice(holders)
    if holder and other:
        key = random.choice(list(other))
        taken = random.choice(list(holder))
        holder[key] = holder.pop(taken) if random.randrange(2) else copy.deepcopy(other[key])


def events(tree):
    return [item for item in longest_list(tree) or [] if isinstance(item, dict)]


def repeat_events(tree, random):
    """Events once more, some thousand times, each with another time, thread or number, or with the same."""
    items = longest_list(tree)
    if not items:
        return
    at = random.randrange(len(items))
    part = items[at:at + numbers.length(random, 20)]
    changed = random.choice(("ts", "tid", "pid", "dur", "id", "name", "correlation", "nothing"))
    step = random.choice((0, 1, -1, 1000, 2**33))
    for i in range(numbers.length(random, 3000 // len(part))):
        for item in part:
            new = copy.deepcopy(item) if isinstance(item, dict) else item
            if isinstance(new, dict):
                old = new.get(changed)
                holder = new.get("args") if changed == "correlation" and isinstance(new.get("args"), dict) else new
                if isinstance(old, str) and changed == "name":
                    new["name"] = "%s%d" % (old, i)
                else:
                    holder[changed] = (old if isinstance(old, (int, float)) else 0) + step * i
            items.append(new)


def change_everywhere(tree, random):
    """The same member of all events: what joins them, what orders them, what groups them."""
    items = events(tree)
    names = sorted({key for item in items for key in item} | {"ts", "dur", "tid", "pid", "name"})
    name = random.choice(names)
    kind, first, step = random.randrange(5), numbers.number(random), random.choice((0, 1, 1000, 2**30))
    for i, item in enumerate(items):
        holder = item.get("args") if random.randrange(3) == 0 and isinstance(item.get("args"), dict) else item
        if kind == 0:
            holder[name] = first + i * step
        elif kind == 1:
            holder[name] = first
        elif kind == 2 and name in holder:
            del holder[name]
        elif kind == 3 and isinstance(holder.get(name), (int, float)):
            holder[name] = holder[name] * step
        elif kind == 4:
            holder[name] = "%s%d" % (name, i * step)


def change_times(tree, random):
    """Times, lanes and numbers of some events become others that a profiler could write, or those of other events."""
    items = [item for item in events(tree) if isinstance(item.get("ts"), (int, float))]
    for _ in range(random.choice((1, 2, 5, 20)) if items else 0):
        item, other, kind = random.choice(items), random.choice(items), random.randrange(6)
        dur = item.get("dur") if isinstance(item.get("dur"), (int, float)) else 1
        if kind == 0:
            item["dur"] = dur * random.choice((0, 2, 10, 1000, 10**6))
        elif kind == 1:
            item["ts"] += random.choice((-1, 1)) * random.choice((1, 100, 10**6, 4 * 10**9, 10**13))
        elif kind == 2:
            longest_list(tree).append(dict(copy.deepcopy(item), ts=other["ts"]))
        elif kind == 3 and isinstance(item.get("args"), dict) and isinstance(other.get("args"), dict):
            for key in ("correlation", "External id", "stream", "device", "Sequence number"):
                if key in other["args"] and random.randrange(2):
                    item["args"][key] = other["args"][key]
        else:
            key = random.choice(("ts", "dur", "tid", "pid", "name"))
            if key in other:
                item[key] = other[key]


def merge_with_itself(tree, random):
    """All events once more, or those of a kind: the same, shorter, or later; one behind the other or by time."""
    items = longest_list(tree)
    timed = [item for item in events(tree) if isinstance(item.get("ts"), (int, float))]
    if len(timed) > 5000 or not timed:
        return
    kind = random.choice((None, random.choice(timed).get("cat")))
    late, shorter = random.choice((0, 0, 5, 10**6)), random.choice((0, 0, 1))
    for item in timed:
        if kind is None or item.get("cat") == kind:
            new = dict(copy.deepcopy(item), ts=item["ts"] + late)
            if shorter and isinstance(item.get("dur"), (int, float)):
                new["dur"] = item["dur"] / 2
            items.append(new)
    if random.randrange(2):
        items.sort(key=lambda item: item["ts"] if isinstance(item, dict) and isinstance(item.get("ts"), (int, float))
                   else 0)


def change_kind(tree, random):
    """Events of one kind, all or some, begin later or last longer: late calls, kernels that overlap on their stream."""
    timed = [item for item in events(tree) if isinstance(item.get("ts"), (int, float)) and "cat" in item]
    if not timed:
        return
    kind, every = random.choice(timed)["cat"], random.choice((1, 2, 20))
    late, longer = random.choice((0, 3000, 5 * 10**6)), random.choice((1, 2, 50))
    for item in [item for item in timed if item["cat"] == kind][::every]:
        item["ts"] += late
        if isinstance(item.get("dur"), (int, float)):
            item["dur"] *= longer


def remove(tree, random):
    everywhere = places(tree)
    if everywhere:
        holder, key = random.choice(everywhere)
        del holder[key]


def shuffle(tree, random):
    items = longest_list(tree)
    if items:
        random.shuffle(items)


MUTATIONS = [change_value, change_value, change_key, repeat_events, change_everywhere, change_times, change_times,
             merge_with_itself, change_kind, remove, shuffle]


def written(tree):
    out = json.dumps(tree)
    return out.encode("utf-8", "surrogatepass")


def mutate(data, random):
    try:
        tree = json.loads(data)
    except ValueError:
        return changed_bytes(data, random)
    for _ in range(numbers.length(random, 8)):
        if isinstance(tree, (dict, list)):
            random.choice(MUTATIONS)(tree, random)
    try:
        out = written(tree)
    except RecursionError:
        return data
    return changed_bytes(out, random) if random.randrange(8) == 0 else out
