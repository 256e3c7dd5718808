// timeline_area.js: statistics of an area of the timeline, by what one chooses, and its ops as a tree for an icicle.
// Times are cut where the area ends.
import { busyOf, countOf, firstTouching } from './lanes.js';
import { placeOf } from './timeline_links.js';

export const AREA_COLUMNS = [
  'count',
  'sum_ns',
  'of_area_ratio',
  'self_ns',
  'mean_ns',
  'min_ns',
  'median_ns',
  'p95_ns',
  'max_ns',
];

const cutOf = (track, i, from, to) =>
  Math.max(0, Math.min(to, track.starts[i] + track.lengths[i]) - Math.max(from, track.starts[i]));

// Calls take(track, i, time in the area, that of what lies inside it) for each event.
function overArea(tracks, from, to, take) {
  const below = new Map(
    tracks.map((track) => [
      `${track.lane.profile_id} ${track.lane.thread_id} ${track.lane.table} ${track.depth}`,
      track,
    ]),
  );
  for (const track of tracks) {
    const { lane } = track,
      inner =
        lane.table === 'ops' || lane.table === 'ranges'
          ? below.get(`${lane.profile_id} ${lane.thread_id} ${lane.table} ${track.depth + 1}`)
          : null;
    let k = inner ? firstTouching(inner, from) : 0;
    for (let i = firstTouching(track, from); i < track.starts.length && track.starts[i] < to; i++) {
      const end = track.starts[i] + track.lengths[i],
        cut = cutOf(track, i, from, to);
      let inside = 0;
      for (; inner && k < inner.starts.length && inner.starts[k] < Math.min(end, to); k++)
        if (inner.starts[k] >= track.starts[i]) inside += cutOf(inner, k, from, to);
      take(track, i, (track.lengths[i] > 0 ? cut / track.lengths[i] : 1) * busyOf(track, i), inside);
    }
  }
}

// {events, rows}: rows of [key, ...AREA_COLUMNS], the dearest first. by: name, category, lane or line.
export function areaStatistics(tracks, names, titleOfLane, from, to, by) {
  const groups = new Map();
  let events = 0;
  const keyOf = {
    name: (track, i) => names[track.names[i]][0] ?? '–',
    category: (track, i) => names[track.names[i]][1],
    lane: (track) => titleOfLane(track),
    line: (track, i) => (placeOf({ track, i }) || {}).location || 'not known',
  }[by];
  overArea(tracks, from, to, (track, i, busy, inside) => {
    const key = keyOf(track, i),
      count = countOf(track, i);
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { count: 0, ns: 0, self: 0, times: [] }));
    group.count += count;
    group.ns += busy;
    group.self += Math.max(0, busy - inside);
    group.times.push(busy / count);
    events += count;
  });
  const rows = [...groups]
    .map(([key, group]) => {
      group.times.sort((a, b) => a - b);
      const at = (part) =>
        Math.round(group.times[Math.min(group.times.length - 1, Math.floor(part * group.times.length))]);
      return [
        key,
        group.count,
        Math.round(group.ns),
        group.ns / (to - from),
        Math.round(group.self),
        Math.round(group.ns / group.count),
        at(0),
        at(0.5),
        at(0.95),
        at(0.9999999),
      ];
    })
    .sort((a, b) => b[2] - a[2]);
  return { events, rows };
}

// The ops (and ranges) of an area below what called them, equal ones put together, as flame.js draws them.
export function areaTree(tracks, names, from, to) {
  const root = { label: 'all', location: null, self: 0, total: 0, children: new Map(), depth: 0 };
  const lanes = new Map();
  for (const track of tracks) {
    if (track.lane.table !== 'ops' || track.counts) continue;
    if (!lanes.has(track.lane)) lanes.set(track.lane, []);
    lanes.get(track.lane).push(track);
  }
  for (const list of lanes.values()) {
    let above = []; // [end, node] of the depth above, by start
    for (const track of list.sort((a, b) => a.depth - b.depth)) {
      const here = [];
      let k = 0;
      for (let i = firstTouching(track, from); i < track.starts.length && track.starts[i] < to; i++) {
        while (k < above.length && above[k].end <= track.starts[i]) k++;
        const parent = k < above.length && above[k].start <= track.starts[i] ? above[k].node : root;
        const label = names[track.names[i]][0] || '–',
          time = cutOf(track, i, from, to);
        let node = parent.children.get(label);
        if (!node)
          parent.children.set(
            label,
            (node = { label, location: null, self: 0, total: 0, children: new Map(), parent, depth: parent.depth + 1 }),
          );
        node.self += time;
        node.total += time;
        if (parent === root) root.total += time;
        else parent.self -= time;
        here.push({ start: track.starts[i], end: track.starts[i] + track.lengths[i], node });
      }
      above = here;
    }
  }
  return root.total > 0 ? root : null;
}
