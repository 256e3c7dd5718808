// timeline.js: the timeline: lanes that one zooms, pans, searches and measures.  Keys go by their place on the keyboard.
import { countOf, busyOf, firstFrom, firstTouching, idOf, readEvents } from './lanes.js';
import { GUTTER, ROW, densityOf, drawTracks, paintOf, ticksOf } from './timeline_view.js';
import { columnOf, panelOf, rowsOf, run } from './data.js';
import { element, getState, setState, stateSteps, tell } from './state.js';
import { formatCount, formatNs, formatRatio } from './units.js';
import { makeTable } from './table.js';
import { token } from './charts.js';

const RULER = 22, STEPS = 18, STRIP = 36, TOP = RULER + STEPS, SHORTEST_WINDOW = 10;
let events = null; // read once
let timeline = null; // the one that is shown

const titles = { ranges: 'ranges', ops: 'ops', api_calls: 'CUDA calls', kernels: 'kernels', transfers: 'copies',
  collectives: 'collectives' };

// The rows from top to bottom: a title for each thread, then its tracks.
function layOut(profile) {
  const lanes = panelOf('lanes'), rows = [];
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
  list.sort((a, b) => a.lane.profile_id - b.lane.profile_id || isStream(a) - isStream(b) ||
    a.lane.thread_id - b.lane.thread_id);
  for (const group of list) {
    const thread = group.thread, stream = thread && thread[at.kind] === 'stream';
    let name = 'without a thread';
    if (thread) {
      name = stream ? `${thread[at.device] || 'device'} ${thread[at.ordinal] ?? ''} · stream ${thread[at.stream] ?? ''}`
                    : thread[at.name] || `thread ${thread[at.tid] ?? ''}`;
    }
    const rank = thread && thread[at.rank] !== null ? `rank ${thread[at.rank]} · ` : several ? `${group.lane.profile_id} · ` : '';
    rows.push({ title: rank + name });
    group.tracks.forEach((track, i) => rows.push({ track,
      name: i === 0 || group.tracks[i - 1].lane !== track.lane ? titles[track.lane.table] : '' }));
  }
  return rows;
}

class Timeline {
  constructor(root) {
    this.root = root;
    this.scroll = 0;
    this.selected = null; // {track, i}
    this.area = null;     // {from, to, top, bottom} in time and rows
    this.matches = null;
    this.held = new Set();
    this.rows = layOut(getState('profile'));
    this.paint = paintOf(events.names);
    const steps = panelOf('step_marks');
    this.steps = steps ? rowsOf(steps).map((row) => ({ number: row[columnOf(steps, 'number')],
      from: row[columnOf(steps, 'at_ns')], to: row[columnOf(steps, 'at_ns')] + row[columnOf(steps, 'dur_ns')] })) : [];
    this.takeWindow();
    this.build();
  }

  takeWindow() {
    const match = /^(-?[\d.e+]+)~(-?[\d.e+]+)$/.exec(getState('t') || '');
    const chosen = stateSteps();
    [this.from, this.to] = [events.start, events.end];
    if (match && Number(match[2]) > Number(match[1])) {
      [this.from, this.to] = [Number(match[1]), Number(match[2])];
    } else if (chosen && this.steps.length) {
      const inside = this.steps.filter((step) => step.number >= chosen[0] && step.number <= chosen[1]);
      if (inside.length) [this.from, this.to] = [inside[0].from, inside[inside.length - 1].to];
    }
  }

  build() {
    this.canvas = element('canvas', { tabindex: '0', role: 'application', 'aria-label':
      'timeline: W S zoom, A D pan, arrows go from event to event, slash searches, question mark lists the keys' });
    this.strip = element('canvas', { class: 'strip', 'aria-hidden': 'true' });
    this.input = element('input', { type: 'search', placeholder: 'search all events ( / )', 'aria-label': 'search events',
      value: getState('q') || '', oninput: () => this.search(this.input.value) });
    this.found = element('span', { class: 'note', 'aria-live': 'polite' });
    this.said = element('span', { class: 'note' });
    this.details = element('section', { class: 'details', 'aria-live': 'polite', 'aria-label': 'selection' });
    const button = (text, title, action) => element('button', { type: 'button', title, onclick: action }, text);
    const parts = [element('div', { class: 'tools' }, this.input, this.found, button('all', '0', () => this.show(events.start, events.end)),
        button('+', 'W', () => this.zoom(0.5)), button('−', 'S', () => this.zoom(2)),
        button('keys', '?', () => this.explain()), this.said),
      this.note(), this.strip, element('div', { class: 'lanes' }, this.canvas), this.details];
    this.root.replaceChildren(...parts.filter(Boolean));
    this.listen();
    if (this.input.value) this.search(this.input.value);
    this.describe();
  }

  note() {
    if (!run.bucket_ns) return null;
    return element('p', { class: 'note' }, `${formatCount(run.events)} events are drawn as ${formatCount(run.cells)} ` +
      `stretches of ${formatNs(run.bucket_ns)}, each with the count and the time of what it stands for. Every one by itself: ` +
      `tfprof report ${run.runs} --events all`);
  }

  // ---- the window ----

  get width() { return Math.max(50, this.canvas.clientWidth - GUTTER); }
  timeAt(x) { return this.from + (x - GUTTER) / this.width * (this.to - this.from); }
  xOf(time) { return GUTTER + (time - this.from) / (this.to - this.from) * this.width; }
  rowHeight() { return this.rows.length * ROW; }
  rowAt(y) { return Math.floor((y - TOP + this.scroll) / ROW); }

  show(from, to, isSmall = false) {
    const whole = events.end - events.start, length = Math.max(SHORTEST_WINDOW, Math.min(to - from, whole * 1.1));
    const middle = (from + to) / 2;
    this.from = Math.max(events.start - whole * 0.05, Math.min(middle - length / 2, events.end + whole * 0.05 - length));
    this.to = this.from + length;
    this.draw();
    clearTimeout(this.later);
    const place = () => setState({ t: `${Math.round(this.from)}~${Math.round(this.to)}` }, isSmall);
    if (isSmall) this.later = setTimeout(place, 300);
    else place();
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    const length = (this.to - this.from) * factor, part = (at - this.from) / (this.to - this.from);
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
    const before = performance.now(), scale = devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    const pen = this.canvas.getContext('2d', { alpha: false });
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = token('--ground');
    pen.fillRect(0, 0, width, height);
    this.scroll = Math.max(0, Math.min(this.scroll, this.rowHeight() - (height - TOP)));
    this.rows.forEach((row, i) => { row.y = TOP + i * ROW - this.scroll; });
    const view = { from: this.from, to: this.to, width: this.width, height };
    pen.fillStyle = token('--line');
    for (const tick of ticksOf(this.from, this.to, this.width)) pen.fillRect(Math.round(this.xOf(tick)), 0, 1, height);
    const count = drawTracks(pen, this.rows, view, this.paint, events.names, this.matches);
    this.paintNames(pen, height);
    this.paintTop(pen, width);
    this.paintMarks(pen);
    this.paintStrip();
    this.said.textContent = `${formatNs(this.to - this.from)} shown, ${formatCount(count)} events on screen`;
    this.frame = { ms: performance.now() - before, count };
    if (!performance.getEntriesByName('first-frame').length) performance.mark('first-frame');
  }

  paintNames(pen, height) {
    pen.fillStyle = token('--ground');
    pen.fillRect(0, TOP, GUTTER, height - TOP);
    pen.font = '12px system-ui';
    pen.textBaseline = 'middle';
    for (const row of this.rows) {
      if (row.y + ROW < TOP || row.y > height) continue;
      if (row.title) {
        pen.fillStyle = token('--panel');
        pen.fillRect(0, row.y, this.canvas.clientWidth, ROW);
        pen.fillStyle = token('--ink');
        pen.fillText(row.title, 6, row.y + ROW / 2);
      } else if (row.name) {
        pen.fillStyle = token('--quiet');
        pen.fillText(row.name, 18, row.y + ROW / 2);
      }
    }
  }

  paintTop(pen, width) {
    pen.fillStyle = token('--panel');
    pen.fillRect(0, 0, width, TOP);
    pen.font = '11px system-ui';
    pen.textBaseline = 'middle';
    for (const tick of ticksOf(this.from, this.to, this.width)) {
      const x = Math.round(this.xOf(tick));
      pen.fillStyle = token('--quiet');
      if (x >= GUTTER) pen.fillText(formatNs(tick), x + 4, RULER / 2);
    }
    pen.fillText('steps', 6, RULER + STEPS / 2);
    for (const step of this.steps) {
      const left = Math.max(GUTTER, this.xOf(step.from)), right = Math.min(width, this.xOf(step.to));
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
  }

  paintMarks(pen) {
    if (this.area) {
      const { from, to, top, bottom } = this.area, left = this.xOf(from), right = this.xOf(to);
      const y = TOP + top * ROW - this.scroll, height = (bottom - top + 1) * ROW;
      pen.fillStyle = token('--area');
      pen.fillRect(left, y, right - left, height);
      pen.strokeStyle = token('--focus');
      pen.strokeRect(left + 0.5, y + 0.5, right - left - 1, height - 1);
      pen.fillStyle = token('--ink');
      pen.fillText(formatNs(to - from), left + 4, Math.max(TOP + 8, y + 9));
    }
    if (this.selected) {
      const { track, i } = this.selected, row = this.rows.find((each) => each.track === track);
      if (!row) return;
      const left = this.xOf(track.starts[i]);
      pen.strokeStyle = token('--focus');
      pen.lineWidth = 2;
      pen.strokeRect(left, row.y, Math.max(3, this.xOf(track.starts[i] + track.lengths[i]) - left), ROW - 1);
      pen.lineWidth = 1;
    }
  }

  paintStrip() {
    const scale = devicePixelRatio || 1, width = this.strip.clientWidth;
    if (!width) return;
    this.strip.width = width * scale;
    this.strip.height = STRIP * scale;
    const inner = Math.max(50, Math.floor(width - GUTTER));
    if (!this.density || this.density.length !== inner) {
      this.density = densityOf(this.rows.filter((row) => row.track).map((row) => row.track), events.start, events.end, inner);
      this.hits = null;
    }
    const pen = this.strip.getContext('2d'), most = Math.max(...this.density, 1e-9);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = token('--panel');
    pen.fillRect(GUTTER, 0, inner, STRIP);
    pen.fillStyle = token('--quiet');
    for (let x = 0; x < inner; x++) {
      const height = this.density[x] / most * (STRIP - 8);
      if (height > 0) pen.fillRect(GUTTER + x, STRIP - height, 1, height);
    }
    if (this.marks) {
      pen.fillStyle = token('--found');
      for (const x of this.marks) pen.fillRect(GUTTER + x * inner, 0, 2, 6);
    }
    const whole = events.end - events.start, left = GUTTER + (this.from - events.start) / whole * inner;
    pen.fillStyle = token('--area');
    pen.strokeStyle = token('--focus');
    const seen = Math.max(3, (this.to - this.from) / whole * inner);
    pen.fillRect(left, 0, seen, STRIP);
    pen.strokeRect(left + 0.5, 0.5, seen - 1, STRIP - 1);
  }

  // ---- search ----

  search(text) {
    const wanted = text.trim().toLowerCase();
    setState({ q: wanted }, true);
    this.matches = this.marks = null;
    this.found.textContent = '';
    if (wanted) {
      this.matches = Uint8Array.from(events.names, ([name]) => (name && name.toLowerCase().includes(wanted) ? 1 : 0));
      let count = 0, ns = 0;
      const places = new Set(), whole = events.end - events.start;
      for (const row of this.rows) {
        if (!row.track) continue;
        const { starts, names } = row.track;
        for (let i = 0; i < names.length; i++) {
          if (!this.matches[names[i]]) continue;
          count += countOf(row.track, i);
          ns += busyOf(row.track, i);
          if (places.size < 2000) places.add(Math.round((starts[i] - events.start) / whole * 1000) / 1000);
        }
      }
      this.marks = [...places];
      const kinds = this.matches.reduce((sum, value) => sum + value, 0);
      this.found.textContent = count ? `${formatCount(count)} events of ${formatCount(kinds)} names, ${formatNs(ns)} together`
                                     : 'nothing is called so';
    }
    this.draw();
  }

  // The next event that the search finds, or the one before.
  next(step) {
    if (!this.matches) return;
    const at = this.selected ? this.selected.track.starts[this.selected.i] : this.from;
    let best = null;
    for (const row of this.rows) {
      if (!row.track) continue;
      const { starts, names } = row.track;
      let i = firstFrom(row.track, at);
      if (step < 0) i--;
      for (; i >= 0 && i < starts.length; i += step) {
        const isSame = this.selected && this.selected.track === row.track && this.selected.i === i;
        if (this.matches[names[i]] && !isSame && (step < 0 ? starts[i] < at : starts[i] > at || !this.selected)) break;
      }
      if (i < 0 || i >= starts.length) continue;
      if (!best || (starts[i] - best.track.starts[best.i]) * step < 0) best = { track: row.track, i };
    }
    if (best) this.select(best, true);
    else tell('no more');
  }

  // ---- selection ----

  select(chosen, isMoving = false) {
    this.selected = chosen;
    if (chosen) this.area = null;
    if (chosen && isMoving) {
      const { track, i } = chosen, start = track.starts[i], end = start + track.lengths[i];
      const index = this.rows.findIndex((row) => row.track === track), height = this.canvas.clientHeight - TOP;
      if ((index + 1) * ROW > this.scroll + height || index * ROW < this.scroll) this.scroll = index * ROW - height / 2;
      if (end < this.from || start > this.to) {
        const half = (this.to - this.from) / 2;
        this.show((start + end) / 2 - half, (start + end) / 2 + half, true);
      }
    }
    this.describe();
    this.draw();
  }

  describe() {
    if (this.area) return this.describeArea();
    if (!this.selected) {
      this.details.replaceChildren(element('p', { class: 'note' },
        'Click an event for its details, drag over an area for statistics.'));
      return undefined;
    }
    const { track, i } = this.selected, [name, category] = events.names[track.names[i]], count = countOf(track, i);
    const facts = [[count > 1 ? 'longest of them' : 'name', name || '–'], ['category', category],
      ['begins', formatNs(track.starts[i])], [count > 1 ? 'span' : 'duration', formatNs(track.lengths[i])]];
    if (count > 1) facts.unshift(['stands for', `${count.toLocaleString('en')} events`], ['busy', formatNs(track.busy[i])]);
    const step = this.steps.find((each) => track.starts[i] >= each.from && track.starts[i] < each.to);
    if (step) facts.push(['step', String(step.number)]);
    facts.push(['table', track.lane.table], ['depth', String(track.depth)], ['id', String(idOf(track, i))]);
    this.details.replaceChildren(element('h3', {}, name || '–'),
      element('dl', {}, ...facts.map(([word, value]) => element('div', {}, element('dt', {}, word), element('dd', {}, value)))),
      element('pre', { class: 'sql' }, `SELECT * FROM ${track.lane.table} WHERE id = ${idOf(track, i)};`));
    return undefined;
  }

  // Times are cut where the area ends.
  describeArea() {
    const { from, to, top, bottom } = this.area, groups = new Map();
    let events_ = 0;
    for (const row of this.rows.slice(top, bottom + 1)) {
      if (!row.track) continue;
      const { starts, lengths, names } = row.track;
      for (let i = firstTouching(row.track, from); i < starts.length && starts[i] < to; i++) {
        const end = Math.min(to, starts[i] + lengths[i]), cut = Math.max(0, end - Math.max(from, starts[i]));
        const share = lengths[i] > 0 ? cut / lengths[i] : 1, busy = busyOf(row.track, i) * share;
        let group = groups.get(names[i]);
        if (!group) groups.set(names[i], group = { count: 0, ns: 0, times: [] });
        group.count += countOf(row.track, i);
        group.ns += busy;
        group.times.push(busy / countOf(row.track, i));
        events_ += countOf(row.track, i);
      }
    }
    const rows = [...groups].map(([index, group]) => {
      group.times.sort((a, b) => a - b);
      const at = (part) => group.times[Math.min(group.times.length - 1, Math.floor(part * group.times.length))];
      return [events.names[index][0], events.names[index][1], group.count, Math.round(group.ns), group.ns / (to - from),
        Math.round(group.ns / group.count), Math.round(at(0)), Math.round(at(0.5)), Math.round(at(0.95)),
        Math.round(at(0.9999999))];
    }).sort((a, b) => b[3] - a[3]);
    this.details.replaceChildren(element('h3', {}, `${formatNs(to - from)}: ${formatCount(events_)} events`),
      makeTable(['name', 'category', 'count', 'sum_ns', 'of_area_ratio', 'mean_ns', 'min_ns', 'median_ns', 'p95_ns', 'max_ns'],
                rows, 'statistics of the area'));
    tell(`${formatNs(to - from)}, ${formatCount(events_)} events, ${formatRatio(1)} of the area`);
  }

  at(event) {
    const row = this.rows[this.rowAt(event.offsetY)];
    if (!row || !row.track || event.offsetX < GUTTER || event.offsetY < TOP) return null;
    const slack = (this.to - this.from) / this.width * 3, time = this.timeAt(event.offsetX);
    let best = null, distance = slack;
    for (let i = Math.max(0, firstTouching(row.track, time - slack)); i < row.track.starts.length &&
         row.track.starts[i] <= time + slack; i++) {
      const start = row.track.starts[i], end = start + row.track.lengths[i];
      const away = time < start ? start - time : time > end ? time - end : 0;
      if (away < distance || (away === 0 && distance === 0)) [best, distance] = [{ track: row.track, i }, away];
    }
    return best;
  }

  // ---- keys and mouse ----

  listen() {
    let drag = null;
    this.canvas.addEventListener('mousedown', (event) => {
      if (event.button !== 0 || event.offsetX < GUTTER) return;
      drag = { x: event.offsetX, y: event.offsetY, from: this.from, to: this.to, isPan: event.shiftKey, has: false };
    });
    this.canvas.addEventListener('mousemove', (event) => {
      if (!drag) {
        const found = this.at(event);
        this.canvas.title = found ? `${events.names[found.track.names[found.i]][0]}: ${formatNs(found.track.lengths[found.i])}` +
          (countOf(found.track, found.i) > 1 ? `, ${countOf(found.track, found.i)} events` : '') : '';
        return;
      }
      if (Math.abs(event.offsetX - drag.x) < 4 && !drag.has) return;
      drag.has = true;
      if (drag.isPan) {
        const by = (drag.x - event.offsetX) / this.width * (drag.to - drag.from);
        this.show(drag.from + by, drag.to + by, true);
        return;
      }
      const times = [this.timeAt(drag.x), this.timeAt(Math.max(GUTTER, event.offsetX))].sort((a, b) => a - b);
      const lines = [this.rowAt(drag.y), this.rowAt(event.offsetY)].map((row) =>
        Math.max(0, Math.min(row, this.rows.length - 1))).sort((a, b) => a - b);
      this.area = { from: times[0], to: times[1], top: lines[0], bottom: lines[1] };
      this.selected = null;
      this.draw();
    });
    const release = (event) => {
      if (!drag) return;
      const { has, isPan } = drag;
      drag = null;
      if (has && !isPan) this.describe();
      else if (!has && event.target === this.canvas) {
        this.area = null;
        this.select(this.at(event));
      }
    };
    addEventListener('mouseup', release);
    this.stop = () => removeEventListener('mouseup', release);
    this.canvas.addEventListener('dblclick', () => this.fit());
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.003), this.timeAt(event.offsetX));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan((event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) / this.width);
      else {
        this.scroll += event.deltaY;
        this.draw();
      }
    }, { passive: false });
    const jump = (event) => {
      if (event.buttons !== 1 && event.type !== 'click') return;
      const at = events.start + (event.offsetX - GUTTER) / (this.strip.clientWidth - GUTTER) * (events.end - events.start);
      const half = (this.to - this.from) / 2;
      this.show(at - half, at + half, true);
    };
    this.strip.addEventListener('mousemove', jump);
    this.strip.addEventListener('click', jump);
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.next(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') {
        this.input.value = '';
        this.search('');
        this.canvas.focus();
      }
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  fit() {
    if (this.area) return this.show(this.area.from, this.area.to);
    if (!this.selected) return undefined;
    const { track, i } = this.selected, length = Math.max(track.lengths[i], 100);
    return this.show(track.starts[i] - length * 0.2, track.starts[i] + length * 1.2);
  }

  step(by) {
    if (!this.steps.length) return;
    const middle = (this.from + this.to) / 2;
    let at = this.steps.findIndex((each) => each.from <= middle && each.to > middle);
    at = at < 0 ? 0 : Math.max(0, Math.min(this.steps.length - 1, at + by));
    const { from, to, number } = this.steps[at];
    this.show(from - (to - from) * 0.02, to + (to - from) * 0.02);
    tell(`step ${number}`);
  }

  beside(by) {
    const chosen = this.selected || this.firstSeen();
    if (!chosen) return;
    const i = this.selected ? chosen.i + by : chosen.i;
    if (i >= 0 && i < chosen.track.starts.length) this.select({ track: chosen.track, i }, true);
  }
  firstSeen() {
    const row = this.rows.find((each) => each.track && each.y >= TOP && firstTouching(each.track, this.from) <
      each.track.starts.length);
    return row ? { track: row.track, i: firstTouching(row.track, this.from) } : null;
  }
  // What lies around the event in the same lane, or below its middle.
  upOrDown(by) {
    if (!this.selected) return this.beside(0);
    const { track, i } = this.selected, middle = track.starts[i] + track.lengths[i] / 2;
    const other = events.tracks.find((each) => each.lane === track.lane && each.depth === track.depth + by);
    if (!other) return undefined;
    const at = firstTouching(other, by < 0 ? middle : track.starts[i]);
    return at < other.starts.length ? this.select({ track: other, i: at }, true) : undefined;
  }

  explain() {
    const keys = [['W S, ctrl-wheel', 'zoom'], ['A D, shift-drag, shift-wheel', 'pan'], ['drag', 'an area and its statistics'],
      ['F, double click', 'fit the selection'], ['0', 'everything'], ['← →', 'event before, after'],
      ['↑ ↓', 'around it, in it'], ['/ Enter shift-Enter Esc', 'search, next, before, away'], ['[ ]', 'step before, after']];
    this.area = this.selected = null;
    this.details.replaceChildren(element('h3', {}, 'Keys'), element('dl', { class: 'keys' },
      ...keys.map(([key, text]) => element('div', {}, element('dt', {}, key), element('dd', {}, text)))));
  }

  // Zooms and pans for as long as a key is held, ever faster.
  hold(code) {
    if (this.held.has(code)) return;
    this.held.add(code);
    const begin = performance.now();
    let last = begin;
    const move = (now) => {
      if (!this.held.has(code) || !this.canvas.isConnected) return;
      const speed = Math.min(6, 1 + (now - begin) / 400) * Math.min(50, now - last) / 1000;
      last = now;
      if (code === 'KeyW') this.zoom(Math.exp(-2 * speed));
      if (code === 'KeyS') this.zoom(Math.exp(2 * speed));
      if (code === 'KeyA') this.pan(-speed / 2);
      if (code === 'KeyD') this.pan(speed / 2);
      requestAnimationFrame(move);
    };
    requestAnimationFrame(move);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const actions = { KeyF: () => this.fit(), Digit0: () => this.show(events.start, events.end), ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1), Comma: () => this.beside(-1), Period: () => this.beside(1),
      ArrowUp: () => this.upOrDown(-1), ArrowDown: () => this.upOrDown(1), BracketLeft: () => this.step(-1),
      BracketRight: () => this.step(1), Enter: () => this.next(event.shiftKey ? -1 : 1),
      Escape: () => { this.area = null; this.select(null); } };
    if (event.key === '/') this.input.focus();
    else if (event.key === '?') this.explain();
    else if (/^Key[WASD]$/.test(event.code)) this.hold(event.code);
    else if (actions[event.code]) actions[event.code]();
    else return false;
    return true;
  }
}

// Shows the timeline in the element.
export async function showTimeline(root) {
  if (timeline) timeline.stop();
  timeline = null;
  if (!run.has_events) {
    root.replaceChildren(element('p', { class: 'empty' },
      'This file was written without events: tfprof report without --no-events has them.'));
    return null;
  }
  if (!events) {
    const bar = element('progress', { max: '1', value: '0', 'aria-label': 'reading events' });
    root.replaceChildren(element('p', { class: 'note' }, `reading ${formatCount(run.events)} events `, bar));
    if (!window.DecompressionStream) {
      root.replaceChildren(element('p', { class: 'empty' }, 'This browser has no DecompressionStream, which the timeline ' +
        'needs: Chromium from 80, Firefox from 113 and Safari from 16.4 have it.'));
      return null;
    }
    events = await readEvents((part) => { bar.value = part; });
    performance.mark('events');
  }
  if (!root.isConnected) return null;
  if (!events.tracks.length) {
    root.replaceChildren(element('p', { class: 'empty' }, 'Nothing with a place in time was recorded.'));
    return null;
  }
  timeline = new Timeline(root);
  return timeline;
}

export const shownTimeline = () => (timeline && timeline.canvas.isConnected ? timeline : null);
