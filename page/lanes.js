// lanes.js: the events of the timeline, from the columns of the file (ext/report/lane_columns.h) to typed arrays.  Each
// track, a row of a lane, has its events by ascending start; times are nanoseconds since the origin.

import { bytesOf, inflated } from './data.js';

const columnNames = ['starts', 'lengths', 'names', 'rows', 'counts', 'busy', 'links', 'traces'];

async function inflate(id, columnOf) {
  const bytes = columnOf(id);
  return bytes && new Uint8Array(await inflated(bytes).arrayBuffer());
}

// Calls take(value, i) for each of `count` varints from `at` on; returns where they end.  Beyond 2^53 they are rounded.
function readVarints(bytes, at, count, out) {
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++],
      value = byte & 127,
      factor = 128;
    while (byte > 127) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    }
    out[i] = value;
  }
  return at;
}

function sumUp(values, first) {
  for (let i = 0, sum = first; i < values.length; i++) values[i] = sum += values[i];
}

const unzigzag = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);

// A track's links are rows * 2, of ops + 1; -1: not known.
function readLink(value, moveOn) {
  if (!value) return -1;
  const isOp = (value - 1) % 2;
  return moveOn(unzigzag((value - 1 - isOp) / 2)) * 2 + isOp;
}

// The tracks of lanes whose columns follow each other in one bundle: a list for each lane.
async function decodeBundle(bundle, lanes, columnOf) {
  const columns = await Promise.all(columnNames.map((name) => inflate(`bundle-${bundle}-${name}`, columnOf)));
  const at = columnNames.map(() => 0);
  return lanes.map((lane) =>
    lane.tracks.map(([depth, count]) => {
      const starts = new Float64Array(count),
        lengths = new Float64Array(count),
        names = new Uint32Array(count);
      const rows = new Float64Array(count);
      const track = { lane, depth, starts, lengths, names, rows, counts: null, busy: null, links: null, traces: null };
      at[0] = readVarints(columns[0], at[0], count, starts);
      at[1] = readVarints(columns[1], at[1], count, lengths);
      at[2] = readVarints(columns[2], at[2], count, names);
      at[3] = readVarints(columns[3], at[3], count, rows);
      sumUp(starts, 0);
      let row = 0;
      for (let i = 0; i < count; i++) rows[i] = row += unzigzag(rows[i]);
      if (columns[4]) {
        track.counts = new Float64Array(count);
        track.busy = new Float64Array(count);
        at[4] = readVarints(columns[4], at[4], count, track.counts);
        at[5] = readVarints(columns[5], at[5], count, track.busy);
      }
      if (columns[6]) {
        track.links = new Float64Array(count);
        at[6] = readVarints(columns[6], at[6], count, track.links);
        for (let i = 0, last = 0; i < count; i++) track.links[i] = readLink(track.links[i], (step) => (last += step));
      }
      if (columns[7]) {
        track.traces = new Float64Array(count);
        at[7] = readVarints(columns[7], at[7], count, track.traces);
        for (let i = 0, last = 0; i < count; i++)
          track.traces[i] = track.traces[i] ? (last += unzigzag(track.traces[i] - 1)) : -1;
      }
      return track;
    }),
  );
}

function endOf(track) {
  let last = 0;
  for (let i = 0; i < track.starts.length; i++)
    if (track.starts[i] + track.lengths[i] > last) last = track.starts[i] + track.lengths[i];
  return last;
}

// {names: [[name, category]], lanes, tracks, start, end}; progress(part) while it goes on. `answer`: what a server says
// (served.js); without one it stands in the file.
export async function readEvents(progress, answer = null) {
  if (document.readyState === 'loading') await new Promise((resolve) => addEventListener('DOMContentLoaded', resolve));
  const { lanes, names } = answer ? answer.head : await inflated(bytesOf('lanes')).json();
  const columnOf = answer ? answer.columnOf : bytesOf,
    bundles = new Map(),
    tracksOf = new Map();
  for (const lane of lanes) {
    if (!bundles.has(lane.bundle)) bundles.set(lane.bundle, []);
    bundles.get(lane.bundle).push(lane);
  }
  let start = Infinity,
    end = -Infinity,
    done = 0;
  for (const [bundle, list] of bundles) {
    (await decodeBundle(bundle, list, columnOf)).forEach((tracks, i) => {
      tracksOf.set(list[i], tracks);
      for (const track of tracks.filter((each) => each.starts.length)) {
        start = Math.min(start, track.starts[0]);
        end = Math.max(end, endOf(track));
      }
    });
    progress(++done / bundles.size);
  }
  if (!(end > start)) [start, end] = [0, 1];
  return { names, lanes, tracks: lanes.flatMap((lane) => tracksOf.get(lane)), start, end };
}

const trackKey = ({ lane, depth }) => `${lane.profile_id} ${lane.thread_id} ${lane.table} ${depth}`;

// The lanes and the range of `whole` with the events of `part`, which is a window of it.
export function insertEvents(whole, part) {
  const nothing = { starts: [], lengths: [], names: [], rows: [], counts: null, busy: null, links: null, traces: null };
  const tracks = new Map(part.tracks.map((track) => [trackKey(track), track]));
  return {
    ...part,
    lanes: whole.lanes,
    start: whole.start,
    end: whole.end,
    tracks: whole.tracks.map((track) => {
      const found = tracks.get(trackKey(track));
      return found ? { ...found, lane: track.lane } : { ...nothing, lane: track.lane, depth: track.depth };
    }),
  };
}

// The first event of the track that begins at `time` or later.
export function firstFrom(track, time) {
  let low = 0,
    high = track.starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.starts[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The first that touches what begins at `time`: on a track nothing overlaps, so that only one may have begun before.
export function firstTouching(track, time) {
  const first = firstFrom(track, time);
  return first > 0 && track.starts[first - 1] + track.lengths[first - 1] > time ? first - 1 : first;
}

// Ids are profile << 36 | row, as in SQL.
export const idOf = (track, i) => track.lane.profile_id * 2 ** 36 + track.rows[i];
export const countOf = (track, i) => (track.counts ? track.counts[i] : 1);
export const busyOf = (track, i) => (track.busy ? track.busy[i] : track.lengths[i]);
