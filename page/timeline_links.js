// timeline_links.js: what belongs to an event: the launch and the op that caused it, what it caused, its line of
// source; and a window as a trace that other viewers read.
import { firstTouching, idOf } from './lanes.js';
import { panelOf } from './data.js';

const MOST_ARROWS = 200;

// The event of a row of a table.
export function eventOf(tracks, profile, table, row) {
  for (const track of tracks) {
    if (track.lane.profile_id !== profile || track.lane.table !== table) continue;
    const i = track.rows.indexOf(row);
    if (i >= 0) return { track, i };
  }
  return null;
}

// The launch or op that caused an event; NULL: that is not known.
export function causeOf(tracks, { track, i }) {
  const link = track.links ? track.links[i] : -1;
  return link < 0 ? null : eventOf(tracks, track.lane.profile_id, link % 2 ? 'ops' : 'api_calls', Math.floor(link / 2));
}

// Rows of the op and of the ops inside it.
function opsInside(tracks, { track, i }) {
  const rows = new Set([track.rows[i]]),
    from = track.starts[i],
    to = from + track.lengths[i];
  for (const other of tracks) {
    if (other.lane !== track.lane || other.depth <= track.depth) continue;
    for (let k = firstTouching(other, from); k < other.starts.length && other.starts[k] < to; k++)
      rows.add(other.rows[k]);
  }
  return rows;
}

// {arrows: [[from, to]], causes: [event], work: [event]}: from op to launch to kernel, whichever of them is the event.
// work: what ran on devices because of it.  Arrows are at most MOST_ARROWS, work is all of it.
export function chainOf(tracks, event) {
  const { lane } = event.track,
    arrows = [],
    causes = [],
    work = [];
  for (let at = event, cause; (cause = causeOf(tracks, at)) && causes.length < 3; at = cause) {
    arrows.push([cause, at]);
    causes.push(cause);
  }
  const linked = tracks.filter((track) => track.links && track.lane.profile_id === lane.profile_id);
  const effects = (wanted, isOp, take) => {
    for (const track of linked) {
      for (let i = 0; i < track.links.length; i++) {
        const link = track.links[i];
        if (link >= 0 && link % 2 === isOp && wanted.has(Math.floor(link / 2)))
          take({ track, i }, Math.floor(link / 2));
      }
    }
  };
  const calls = new Map();
  if (lane.table === 'ops') {
    effects(opsInside(tracks, event), 1, (found) => {
      if (found.track.lane.table === 'api_calls') calls.set(found.track.rows[found.i], found);
      else work.push(found);
      if (arrows.length < MOST_ARROWS) arrows.push([event, found]);
    });
  } else if (lane.table === 'api_calls') {
    calls.set(event.track.rows[event.i], event);
  }
  if (calls.size) {
    effects(calls, 0, (found, call) => {
      work.push(found);
      if (arrows.length < MOST_ARROWS) arrows.push([calls.get(call), found]);
    });
  }
  return { arrows, causes, work };
}

const places = new Map(); // by id of code_traces

function readPlaces() {
  const panel = panelOf('op_places');
  if (!places.size && panel && !panel.error) {
    const at = (name) => panel.at(name);
    for (const row of panel.all) {
      places.set(row[at('code_trace_id')], {
        location: row[at('location')],
        name: row[at('function')],
        text: row[at('text')],
      });
    }
  }
  return places;
}

// {location, function, text} of the line that called an op; NULL: not known.
export function placeOf(event) {
  if (!event || !event.track.traces || event.track.traces[event.i] < 0) return null;
  return readPlaces().get(event.track.lane.profile_id * 2 ** 36 + event.track.traces[event.i]) || null;
}

// The stacks of which a line is the program's, or any line of a file.
export function tracesOf(line) {
  return new Set(
    [...readPlaces()]
      .filter(
        ([, { location }]) =>
          location && [location, location.replace(/:\d+$/, '')].some((each) => each.toLowerCase() === line),
      )
      .map(([id]) => id),
  );
}

// The events of a window as trace events in JSON, with their titles and flows; NULL: they are more than `most`.
export function traceOf(names, groups, from, to, most) {
  const parts = [],
    calls = new Map(),
    works = [];
  let thread = 0,
    count = 0;
  const put = (record) => parts.push(JSON.stringify(record));
  for (const { title, tracks } of groups) {
    thread++;
    const pid = tracks[0].lane.profile_id,
      begun = parts.length;
    for (const track of tracks) {
      for (let i = firstTouching(track, from); i < track.starts.length && track.starts[i] < to; i++) {
        if (++count > most) return null;
        const [name, cat] = names[track.names[i]],
          { table } = track.lane;
        const record = {
          ph: 'X',
          name: name || '',
          cat,
          pid,
          tid: thread,
          ts: track.starts[i] / 1000,
          dur: track.lengths[i] / 1000,
          args: { table, id: idOf(track, i) },
        };
        if (track.counts && track.counts[i] > 1) record.args.events = track.counts[i];
        put(record);
        const flow = { pid, tid: thread, ts: record.ts };
        if (table === 'api_calls') calls.set(`${pid} ${track.rows[i]}`, flow);
        else if (track.links && track.links[i] >= 0 && track.links[i] % 2 === 0)
          works.push([`${pid} ${Math.floor(track.links[i] / 2)}`, flow]);
      }
    }
    if (parts.length > begun) put({ ph: 'M', name: 'thread_name', pid, tid: thread, args: { name: title } });
  }
  let flows = 0;
  for (const [key, work] of works) {
    const call = calls.get(key);
    if (!call) continue;
    flows++;
    put({ ph: 's', name: 'launch', cat: 'launch', id: flows, ...call });
    put({ ph: 'f', bp: 'e', name: 'launch', cat: 'launch', id: flows, ...work });
  }
  return `{"displayTimeUnit":"ns","traceEvents":[\n${parts.join(',\n')}\n]}\n`;
}
