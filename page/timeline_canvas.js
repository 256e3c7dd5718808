// timeline_canvas.js: rows, window and drawing of the timeline: what is in which row, which time is where, what is
// painted.
import { densityOf, drawTracks, GUTTER, paintOf, ROW, ticksOf } from './timeline_view.js';
import { BAND, CURVE, bandsOf, curvesOf, drawBand, drawCurve } from './timeline_marks.js';
import { chainOf } from './timeline_links.js';
import { panelOf, processName, rowsOf } from './data.js';
import { element, getState, setState, stateSteps } from './state.js';
import { formatCount, formatMoment, formatNs, formatUnit } from './units.js';
import { token } from './charts.js';

export const RULER = 22,
  STEPS = 18;
const STRIP = 36,
  SHORTEST_WINDOW = 10;

const titles = {
  ranges: 'ranges',
  ops: 'ops',
  api_calls: 'CUDA calls',
  kernels: 'kernels',
  transfers: 'copies',
  collectives: 'collectives',
};

// The rows from top to bottom: a title for each thread, then its tracks, pinned ones first; curves at the end.
export function layOut(events, profile, pins) {
  const lanes = panelOf('lanes'),
    rows = [];
  const at = Object.fromEntries(lanes.columns.map((column, i) => [column, i]));
  const threads = new Map(lanes.all.map((row) => [row[at.thread_id], row]));
  const groups = new Map();
  for (const track of events.tracks) {
    const { lane } = track;
    if (profile && String(lane.profile_id) !== profile) continue;
    const key = `${lane.profile_id} ${lane.thread_id}`;
    if (!groups.has(key)) groups.set(key, { lane, thread: threads.get(lane.thread_id), tracks: [] });
    groups.get(key).tracks.push(track);
  }
  const list = [...groups.values()];
  const several = new Set(list.map((group) => group.lane.profile_id)).size > 1;
  const isStream = (group) => (group.thread && group.thread[at.kind] === 'stream' ? 1 : group.thread ? 0 : 2);
  const isPinned = (group) => pins.has(keyOfLane(group.lane));
  list.sort(
    (a, b) =>
      isPinned(b) - isPinned(a) ||
      a.lane.profile_id - b.lane.profile_id ||
      isStream(a) - isStream(b) ||
      a.lane.thread_id - b.lane.thread_id,
  );
  for (const group of list) {
    const thread = group.thread,
      stream = thread && thread[at.kind] === 'stream';
    let name = 'without a thread';
    if (thread) {
      name = stream
        ? `${thread[at.device] || 'device'} ${thread[at.ordinal] ?? ''} · stream ${thread[at.stream] ?? ''}`
        : thread[at.name] || `thread ${thread[at.tid] ?? ''}`;
    }
    const rank =
      thread && thread[at.rank] !== null
        ? `rank ${thread[at.rank]} · `
        : several
          ? `${processName(group.lane.profile_id)} · `
          : '';
    const title = rank + name;
    rows.push({ title: (isPinned(group) ? '◆ ' : '') + title, lane: group.lane });
    group.tracks.forEach((track, i) =>
      rows.push({
        track,
        lane: track.lane,
        group: title,
        name: i === 0 || group.tracks[i - 1].lane !== track.lane ? titles[track.lane.table] : '',
      }),
    );
  }
  const curves = curvesOf();
  if (curves.length)
    rows.push({ title: 'memory and counters' }, ...curves.map((curve) => ({ curve, name: curve.name })));
  let top = 0;
  for (const row of rows) {
    row.top = top;
    row.height = row.curve ? CURVE : ROW;
    top += row.height;
  }
  return rows;
}

export const keyOfLane = (lane) => `${lane.profile_id}.${lane.thread_id ?? 0}`;
export const pinsOf = () => new Set((getState('pin') || '').split(',').filter(Boolean));

export const countAll = (track) =>
  track.counts ? track.counts.reduce((sum, count) => sum + count, 0) : track.starts.length;

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let letters = text.length;
  while (letters > 1 && pen.measureText(text.slice(0, letters) + '…').width > width) letters--;
  return text.slice(0, letters) + '…';
}

// What of a timeline is seen; what is done with it is in timeline.js.
export class LaneCanvas {
  constructor(root, events) {
    this.root = root;
    this.scroll = 0;
    this.selected = null; // {track, i}
    this.area = null; // {from, to, top, bottom} in time and rows
    this.kept = []; // areas that were measured
    this.matches = null;
    this.chain = null; // of what is selected
    this.takeEvents(events);
    this.canvas = element('canvas', {
      tabindex: '0',
      role: 'application',
      'aria-label':
        'timeline: W S zoom, A D pan, arrows go from event to event, slash searches, question mark lists the keys',
    });
    this.strip = element('canvas.strip', { 'aria-hidden': 'true' });
    this.said = element('span.note', {});
    this.takeWindow();
  }

  // Of a server, which may have more of a window than of the whole.
  lookCloser() {}

  // Other events than before are in the window, or other marks above them.
  takeEvents(events) {
    this.events = events;
    this.rows = layOut(events, getState('profile'), pinsOf());
    this.bands = bandsOf(getState('profile'));
    this.paint = paintOf(events.names);
    const steps = panelOf('step_marks');
    this.steps = steps
      ? rowsOf(steps).map((row) => ({
          number: row[steps.at('number')],
          from: row[steps.at('at_ns')],
          to: row[steps.at('at_ns')] + row[steps.at('dur_ns')],
        }))
      : [];
  }

  // Where lanes begin: below the ruler, the steps and the bands.
  get top() {
    return RULER + STEPS + (getState('marks') === 'none' ? 0 : this.bands.length * BAND);
  }

  takeWindow() {
    const match = /^(-?[\d.e+]+)~(-?[\d.e+]+)$/.exec(getState('t') || '');
    const chosen = stateSteps();
    [this.from, this.to] = [this.events.start, this.events.end];
    if (match && Number(match[2]) > Number(match[1])) {
      [this.from, this.to] = [Number(match[1]), Number(match[2])];
    } else if (chosen && this.steps.length) {
      const inside = this.steps.filter((step) => step.number >= chosen[0] && step.number <= chosen[1]);
      if (inside.length) [this.from, this.to] = [inside[0].from, inside[inside.length - 1].to];
    }
  }

  // ---- the window ----

  get width() {
    return Math.max(50, this.canvas.clientWidth - GUTTER);
  }
  timeAt(x) {
    return this.from + ((x - GUTTER) / this.width) * (this.to - this.from);
  }
  xOf(time) {
    return GUTTER + ((time - this.from) / (this.to - this.from)) * this.width;
  }
  rowHeight() {
    const last = this.rows[this.rows.length - 1];
    return last ? last.top + last.height : 0;
  }
  rowAt(y) {
    const at = y - this.top + this.scroll;
    let low = 0,
      high = this.rows.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].top <= at) low = middle;
      else high = middle;
    }
    return at >= 0 && at < this.rowHeight() ? low : at < 0 ? -1 : this.rows.length;
  }
  bandAt(y) {
    return y < this.top && y >= RULER + STEPS ? this.bands[Math.floor((y - RULER - STEPS) / BAND)] : null;
  }

  show(from, to, isSmall = false) {
    const whole = this.events.end - this.events.start,
      length = Math.max(SHORTEST_WINDOW, Math.min(to - from, whole * 1.1));
    const middle = (from + to) / 2;
    this.from = Math.max(
      this.events.start - whole * 0.05,
      Math.min(middle - length / 2, this.events.end + whole * 0.05 - length),
    );
    this.to = this.from + length;
    this.draw();
    this.lookCloser();
    clearTimeout(this.later);
    const place = () => setState({ t: `${Math.round(this.from)}~${Math.round(this.to)}` }, isSmall);
    if (isSmall) this.later = setTimeout(place, 300);
    else place();
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    const length = (this.to - this.from) * factor,
      part = (at - this.from) / (this.to - this.from);
    this.show(at - length * part, at + length * (1 - part), true);
  }
  pan(part) {
    const by = (this.to - this.from) * part;
    this.show(this.from + by, this.to + by, true);
  }

  // ---- drawing ----

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      if (this.canvas.isConnected && this.canvas.clientWidth) this.paintAll();
    });
  }

  paintAll() {
    const before = performance.now(),
      scale = devicePixelRatio || 1;
    const width = this.canvas.clientWidth,
      height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    const pen = this.canvas.getContext('2d', { alpha: false });
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = token('--ground');
    pen.fillRect(0, 0, width, height);
    this.scroll = Math.max(0, Math.min(this.scroll, this.rowHeight() - (height - this.top)));
    for (const row of this.rows) row.y = this.top + row.top - this.scroll;
    const view = { from: this.from, to: this.to, width: this.width, height, top: this.top };
    pen.fillStyle = token('--line');
    for (const tick of ticksOf(this.from, this.to, this.width)) pen.fillRect(Math.round(this.xOf(tick)), 0, 1, height);
    const count = drawTracks(pen, this.rows, view, this.paint, this.events.names, this.matches);
    for (const row of this.rows)
      if (row.curve && row.y + row.height > this.top && row.y < height) drawCurve(pen, row.curve, row.y, view);
    this.paintNames(pen, height);
    this.paintMarks(pen, height);
    this.paintTop(pen, width, view);
    this.paintStrip();
    this.said.textContent = `${formatNs(this.to - this.from)} shown, ${formatCount(count)} events on screen`;
    this.frame = { ms: performance.now() - before, count };
    if (!performance.getEntriesByName('first-frame').length) performance.mark('first-frame');
  }

  paintNames(pen, height) {
    pen.fillStyle = token('--ground');
    pen.fillRect(0, this.top, GUTTER, height - this.top);
    pen.font = '12px system-ui';
    pen.textBaseline = 'middle';
    for (const row of this.rows) {
      if (row.y + row.height < this.top || row.y > height) continue;
      if (row.title) {
        pen.fillStyle = token('--panel');
        pen.fillRect(0, row.y, this.canvas.clientWidth, ROW);
        pen.fillStyle = token('--ink');
        pen.fillText(fitted(pen, row.title, this.canvas.clientWidth - 12), 6, row.y + ROW / 2);
      } else if (row.name) {
        pen.fillStyle = token('--quiet');
        pen.fillText(fitted(pen, row.name, GUTTER - 26), 18, row.y + ROW / 2);
        if (row.curve) pen.fillText(`at most ${formatUnit(row.curve.most, row.curve.unit)}`, 18, row.y + CURVE - 13);
      }
    }
  }

  paintTop(pen, width, view) {
    pen.fillStyle = token('--panel');
    pen.fillRect(0, 0, width, this.top);
    pen.font = '11px system-ui';
    pen.textBaseline = 'middle';
    for (const tick of ticksOf(this.from, this.to, this.width)) {
      const x = Math.round(this.xOf(tick)),
        text = formatMoment(tick, ((this.to - this.from) / this.width) * 110);
      pen.fillStyle = token('--quiet');
      if (x >= GUTTER && x + 4 + pen.measureText(text).width <= width) pen.fillText(text, x + 4, RULER / 2);
    }
    pen.fillText('steps', 6, RULER + STEPS / 2);
    for (const step of this.steps) {
      const left = Math.max(GUTTER, this.xOf(step.from)),
        right = Math.min(width, this.xOf(step.to));
      if (right <= left) continue;
      pen.fillStyle = step.number % 2 ? token('--line') : token('--strong');
      pen.fillRect(left, RULER, Math.max(1, right - left - 1), STEPS - 2);
      if (right - left > 24) {
        pen.fillStyle = token('--ink');
        pen.fillText(String(step.number), left + 4, RULER + STEPS / 2);
      }
    }
    pen.fillStyle = token('--panel');
    pen.fillRect(0, 0, GUTTER, RULER);
    if (getState('marks') !== 'none')
      this.bands.forEach((band, i) => drawBand(pen, band, RULER + STEPS + i * BAND, view));
    // Which of the rows are seen.
    const room = view.height - this.top,
      rows = this.rowHeight();
    pen.fillStyle = token('--quiet');
    if (rows > room)
      pen.fillRect(width - 5, this.top + (this.scroll / rows) * room, 4, Math.max(12, (room / rows) * room));
  }

  paintMarks(pen, whole) {
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, this.top, this.width, whole - this.top);
    pen.clip();
    for (const area of [...this.kept, this.area].filter(Boolean)) {
      const { from, to, top, bottom } = area,
        left = this.xOf(from),
        right = this.xOf(to);
      const y = this.rows[top].y,
        height = this.rows[bottom].y + this.rows[bottom].height - y;
      pen.fillStyle = token('--area');
      pen.fillRect(left, y, right - left, height);
      pen.strokeStyle = token('--focus');
      pen.strokeRect(left + 0.5, y + 0.5, right - left - 1, height - 1);
      pen.fillStyle = token('--ink');
      pen.fillText(formatNs(to - from), Math.max(GUTTER, left) + 4, Math.max(this.top + 8, y + 9));
    }
    this.paintArrows(pen);
    if (this.selected) {
      const { track, i } = this.selected,
        row = this.rows.find((each) => each.track === track);
      const left = this.xOf(track.starts[i]);
      pen.strokeStyle = token('--focus');
      pen.lineWidth = 2;
      if (row) pen.strokeRect(left, row.y, Math.max(3, this.xOf(track.starts[i] + track.lengths[i]) - left), ROW - 1);
    }
    pen.restore();
  }

  // From op to launch to kernel, of what is selected.
  paintArrows(pen) {
    if (!this.selected) return;
    this.chain = this.chain || chainOf(this.events.tracks, this.selected);
    const rowOf = new Map(this.rows.filter((row) => row.track).map((row) => [row.track, row]));
    pen.strokeStyle = pen.fillStyle = token('--found');
    for (const [from, to] of this.chain.arrows) {
      const above = rowOf.get(from.track),
        below = rowOf.get(to.track);
      if (!above || !below) continue;
      const start = to.track.starts[to.i],
        first = from.track.starts[from.i];
      const x = this.xOf(Math.max(first, Math.min(start, first + from.track.lengths[from.i]))),
        y = above.y + ROW / 2;
      const right = this.xOf(start),
        bottom = below.y + ROW / 2,
        bend = Math.max(12, Math.min(60, Math.abs(right - x) / 2));
      if (Math.max(x, right) < GUTTER || Math.min(x, right) > GUTTER + this.width) continue;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo(x + bend, y, right - bend, bottom, right, bottom);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(right, bottom);
      pen.lineTo(right - 6, bottom - 3);
      pen.lineTo(right - 6, bottom + 3);
      pen.fill();
    }
  }

  paintStrip() {
    const scale = devicePixelRatio || 1,
      width = this.strip.clientWidth;
    if (!width) return;
    this.strip.width = width * scale;
    this.strip.height = STRIP * scale;
    const inner = Math.max(50, Math.floor(width - GUTTER));
    if (!this.density || this.density.length !== inner) {
      this.density = densityOf(
        this.rows.filter((row) => row.track).map((row) => row.track),
        this.events.start,
        this.events.end,
        inner,
      );
      this.hits = null;
    }
    const pen = this.strip.getContext('2d'),
      most = Math.max(...this.density, 1e-9);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = token('--panel');
    pen.fillRect(GUTTER, 0, inner, STRIP);
    pen.fillStyle = token('--quiet');
    for (let x = 0; x < inner; x++) {
      const height = (this.density[x] / most) * (STRIP - 8);
      if (height > 0) pen.fillRect(GUTTER + x, STRIP - height, 1, height);
    }
    if (this.marks) {
      pen.fillStyle = token('--found');
      for (const x of this.marks) pen.fillRect(GUTTER + x * inner, 0, 2, 6);
    }
    const whole = this.events.end - this.events.start,
      left = GUTTER + ((this.from - this.events.start) / whole) * inner;
    pen.fillStyle = token('--area');
    pen.strokeStyle = token('--focus');
    const seen = Math.max(3, ((this.to - this.from) / whole) * inner);
    pen.fillRect(left, 0, seen, STRIP);
    pen.strokeRect(left + 0.5, 0.5, seen - 1, STRIP - 1);
  }
}
