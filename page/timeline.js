// timeline.js: the timeline: lanes that one zooms, pans, searches and measures.  Keys go by their place on the
// keyboard.
import { busyOf, countOf, firstFrom, firstTouching, idOf, insertEvents, readEvents } from './lanes.js';
import { AREA_COLUMNS, areaStatistics, areaTree } from './timeline_area.js';
import { curvesOf, markAt, valueAt } from './timeline_marks.js';
import { LaneCanvas, countAll, keyOfLane, layOut, pinsOf } from './timeline_canvas.js';
import { causeOf, chainOf, eventOf, placeOf, traceOf, tracesOf } from './timeline_links.js';
import { GUTTER, ROW } from './timeline_view.js';
import { makeFlame } from './flame.js';
import { download, run } from './data.js';
import { askEvents, isServed } from './served.js';
import { element, getState, linkTo, onState, setState, stateSteps, tell } from './state.js';
import { formatCount, formatNs, formatRatio, formatUnit } from './units.js';
import { makeTable } from './table.js';

const MOST_HANDED_OVER = 1000000,
  AREA_WORDS = ['name', 'category', 'lane', 'line'];
let events = null; // read once
let timeline = null; // the one that is shown
let whole = null; // of a server: what it said of everything, where `events` are of a window

class Timeline extends LaneCanvas {
  constructor(root) {
    super(root, events);
    this.held = new Set(); // keys that are down
    this.takeSelection();
    this.build();
  }

  // What the address says is selected: sel=ops:68719476736, area=from~to~first row~last row.
  takeSelection() {
    const [table, id] = (getState('sel') || '').split(':'),
      profile = Math.floor(Number(id) / 2 ** 36);
    this.selected = id ? eventOf(events.tracks, profile, table, Number(id) % 2 ** 36) : null;
    const numbers = (getState('area') || '').split('~').map(Number);
    const isArea = numbers.length === 4 && numbers.every(Number.isFinite) && numbers[1] > numbers[0];
    const inside = (row) => Math.max(0, Math.min(this.rows.length - 1, Math.round(row)));
    this.area = isArea
      ? { from: numbers[0], to: numbers[1], top: inside(numbers[2]), bottom: inside(numbers[3]) }
      : null;
    this.chain = null;
  }

  // What is looked at went into the address; or the address changed.
  keepSelection() {
    const { area, selected } = this;
    setState(
      {
        sel: selected ? `${selected.track.lane.table}:${idOf(selected.track, selected.i)}` : null,
        area: area ? [Math.round(area.from), Math.round(area.to), area.top, area.bottom].join('~') : null,
      },
      true,
    );
  }
  follow(now, before) {
    if (now.sel === before.sel && now.area === before.area) return;
    const shown = this.selected
      ? `${this.selected.track.lane.table}:${idOf(this.selected.track, this.selected.i)}`
      : undefined;
    if ((now.sel || undefined) === shown && Boolean(now.area) === Boolean(this.area)) return;
    this.takeSelection();
    this.describe();
    this.draw();
  }

  lookCloser() {
    if (!whole) return;
    clearTimeout(this.closer);
    this.closer = setTimeout(askDetail, 120);
  }

  // What was selected stays so, where it is still there.
  takeOthers() {
    this.takeEvents(events);
    this.density = null;
    this.takeSelection();
    if (this.input.value) this.search(this.input.value);
    this.draw();
  }

  build() {
    this.input = element('input', {
      type: 'search',
      placeholder: 'search all events ( / )',
      'aria-label': 'search events',
      value: getState('q') || '',
      oninput: () => this.search(this.input.value),
    });
    this.found = element('span.note', { 'aria-live': 'polite' });
    this.details = element('section.details', { 'aria-live': 'polite', 'aria-label': 'selection' });
    const button = (text, title, action) => element('button', { title, onclick: action }, text);
    const parts = [
      element(
        'div.tools',
        {},
        this.input,
        this.found,
        button('all', '0', () => this.show(events.start, events.end)),
        button('+', 'W', () => this.zoom(0.5)),
        button('−', 'S', () => this.zoom(2)),
        this.bands.length
          ? button('marks', 'critical path, findings and idle devices above the lanes', () => this.toggleMarks())
          : null,
        button('for Perfetto', 'the events of this window as a file that ui.perfetto.dev opens', () => this.handOver()),
        button('keys', '?', () => this.explain()),
        this.said,
      ),
      this.note(),
      this.strip,
      element('div.lanes', {}, this.canvas),
      this.details,
    ];
    this.root.replaceChildren(...parts.filter(Boolean));
    this.listen();
    if (this.input.value) this.search(this.input.value);
    this.describe();
  }

  note() {
    if (!run.bucket_ns) {
      return run.has_causes === false
        ? element(
            'p.note',
            {},
            'Which op launched what, and at which line, did not ' +
              `fit into this file: tfprof report ${run.runs} --events all`,
          )
        : null;
    }
    if (isServed) {
      return element(
        'p.note',
        {},
        `Of ${formatCount(run.events)} events those that lie together in a pixel are drawn ` +
          'as one, with their count and time; zoom in for each by itself.',
      );
    }
    return element(
      'p.note',
      {},
      `${formatCount(run.events)} events are drawn as ${formatCount(run.cells)} ` +
        `stretches of ${formatNs(run.bucket_ns)}, each with the count and the time of what it stands for. ` +
        `Every one by itself: tfprof report ${run.runs} --events all`,
    );
  }

  // ---- search ----

  search(text) {
    const wanted = text.trim().toLowerCase();
    setState({ q: wanted }, true);
    this.matches = this.marks = null;
    this.found.textContent = '';
    if (wanted) {
      this.matches = Uint8Array.from(events.names, ([name]) => (name && name.toLowerCase().includes(wanted) ? 1 : 0));
      // A line, as train.py:43, or all of its file: the events that it calls.
      const lines = tracesOf(wanted);
      let count = 0,
        ns = 0;
      const places = new Set(),
        whole = events.end - events.start;
      for (const row of this.rows) {
        if (!row.track) continue;
        const { starts, names, traces, lane } = row.track;
        row.track.hits =
          lines.size &&
          Uint8Array.from(names, (name, i) =>
            this.matches[name] || (traces && traces[i] >= 0 && lines.has(lane.profile_id * 2 ** 36 + traces[i]))
              ? 1
              : 0,
          );
        for (let i = 0; i < names.length; i++) {
          if (!this.isHit(row.track, i)) continue;
          count += countOf(row.track, i);
          ns += busyOf(row.track, i);
          if (places.size < 2000) places.add(Math.round(((starts[i] - events.start) / whole) * 1000) / 1000);
        }
      }
      this.marks = [...places];
      const kinds = lines.size || this.matches.reduce((sum, value) => sum + value, 0);
      const all = this.rows.reduce((sum, row) => sum + (row.track ? countAll(row.track) : 0), 0);
      this.found.textContent = count
        ? `${formatCount(count)} events of ${formatCount(kinds)} ${lines.size ? 'stacks' : 'names'}, ` +
          `${formatRatio(count / (all || 1))} of all; ${formatNs(ns)} together`
        : 'nothing is called so';
    }
    this.draw();
  }

  isHit(track, i) {
    return track.hits ? track.hits[i] : this.matches[track.names[i]];
  }

  // The next event that the search finds, or the one before.
  next(step) {
    if (!this.matches) return;
    const at = this.selected ? this.selected.track.starts[this.selected.i] : this.from;
    let best = null;
    for (const row of this.rows) {
      if (!row.track) continue;
      const { starts } = row.track;
      let i = firstFrom(row.track, at);
      if (step < 0) i--;
      for (; i >= 0 && i < starts.length; i += step) {
        const isSame = this.selected && this.selected.track === row.track && this.selected.i === i;
        if (this.isHit(row.track, i) && !isSame && (step < 0 ? starts[i] < at : starts[i] > at || !this.selected))
          break;
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
    this.chain = null;
    if (chosen) this.area = null;
    this.keepSelection();
    if (chosen && isMoving) {
      const { track, i } = chosen,
        start = track.starts[i],
        end = start + track.lengths[i];
      const row = this.rows.find((each) => each.track === track),
        height = this.canvas.clientHeight - this.top;
      if (row && (row.top + ROW > this.scroll + height || row.top < this.scroll)) this.scroll = row.top - height / 2;
      if (end < this.from || start > this.to) {
        const half = (this.to - this.from) / 2;
        this.show((start + end) / 2 - half, (start + end) / 2 + half, true);
      }
    }
    this.describe();
    this.draw();
  }

  describe() {
    this.details.classList.toggle('idle', !this.area && !this.selected);
    if (this.area) return this.describeArea();
    if (!this.selected) {
      this.details.replaceChildren(
        element('p.note', {}, 'Click an event for its details, drag over an area for statistics.'),
      );
      return undefined;
    }
    const { track, i } = this.selected,
      [name, category] = events.names[track.names[i]],
      count = countOf(track, i);
    const facts = [
      [count > 1 ? 'longest of them' : 'name', name || '–'],
      ['category', category],
      ['begins', formatNs(track.starts[i])],
      [count > 1 ? 'span' : 'duration', formatNs(track.lengths[i])],
    ];
    if (count > 1)
      facts.unshift(['stands for', `${count.toLocaleString('en')} events`], ['busy', formatNs(track.busy[i])]);
    const step = this.steps.find((each) => track.starts[i] >= each.from && track.starts[i] < each.to);
    if (step) facts.push(['step', String(step.number)]);
    facts.push(['table', track.lane.table], ['depth', String(track.depth)], ['id', String(idOf(track, i))]);
    this.chain = this.chain || chainOf(events.tracks, this.selected);
    const { causes, work } = this.chain;
    if (work.length) {
      const ns = work.reduce((sum, each) => sum + each.track.lengths[each.i], 0);
      facts.push(['ran because of it', `${work.length.toLocaleString('en')} kernels and copies, ${formatNs(ns)}`]);
    }
    const place = placeOf(this.selected) || causes.map(placeOf).find(Boolean);
    const goTo = (word, event) =>
      element(
        'div',
        {},
        element('dt', {}, word),
        element(
          'dd',
          {},
          element(
            'button.link',
            { onclick: () => this.select(event, true) },
            events.names[event.track.names[event.i]][0] || '–',
          ),
        ),
      );
    this.details.replaceChildren(
      ...[
        element('h3', {}, name || '–'),
        place
          ? element(
              'p.place',
              {},
              element(
                'code',
                {},
                place.location
                  ? linkTo(place.location, { page: 'code', panel: 'code_lines', f: place.location, t: null })
                  : place.name || '',
              ),
              place.text ? ' ' : null,
              place.text ? element('code', {}, place.text) : null,
            )
          : null,
        element(
          'dl',
          {},
          ...facts.map(([word, value]) => element('div', {}, element('dt', {}, word), element('dd', {}, value))),
          ...causes.map((event) => goTo(event.track.lane.table === 'ops' ? 'caused by the op' : 'launched by', event)),
          work.length ? goTo('first of its work', work[0]) : null,
        ),
        element('pre.sql', {}, `SELECT * FROM ${track.lane.table} WHERE id = ${idOf(track, i)};`),
      ].filter(Boolean),
    );
    return undefined;
  }

  describeArea() {
    const { from, to, top, bottom } = this.area,
      tracks = this.rows
        .slice(top, bottom + 1)
        .map((row) => row.track)
        .filter(Boolean);
    const by = AREA_WORDS.includes(getState('by')) ? getState('by') : 'name',
      titleOf = new Map(this.rows.map((row) => [row.track, row.group]));
    const found = areaStatistics(tracks, events.names, (track) => titleOf.get(track), from, to, by);
    const choice = element(
      'select',
      {
        'aria-label': 'statistics by',
        onchange: () => {
          setState({ by: choice.value === 'name' ? null : choice.value }, true);
          this.describe();
        },
      },
      ...AREA_WORDS.map((word) => element('option', { value: word, selected: word === by }, word)),
    );
    const tree = areaTree(tracks, events.names, from, to);
    this.details.replaceChildren(
      element('h3', {}, `${formatNs(to - from)}: ${formatCount(found.events)} events`),
      element('label', {}, 'by ', choice),
      makeTable([by, ...AREA_COLUMNS], found.rows, 'statistics of the area'),
      ...(tree ? [element('h4', {}, 'its ops, by what called them'), makeFlame(tree, 'ns')] : []),
    );
    tell(`${formatNs(to - from)}, ${formatCount(found.events)} events`);
  }

  // What a band or a curve says where the mouse is; NULL: it is on neither.
  saidAt(event) {
    if (event.offsetX < GUTTER) return null;
    const band = this.bandAt(event.offsetY),
      time = this.timeAt(event.offsetX);
    if (band && getState('marks') !== 'none') {
      const mark = markAt(band, time, ((this.to - this.from) / this.width) * 2);
      return mark ? mark.text : '';
    }
    const row = this.rows[this.rowAt(event.offsetY)];
    return row && row.curve ? `${row.curve.name}: ${formatUnit(valueAt(row.curve, time), row.curve.unit)}` : null;
  }

  // ---- what buttons and keys do ----

  toggleMarks() {
    setState({ marks: getState('marks') === 'none' ? null : 'none' }, true);
    this.draw();
  }
  measure() {
    if (!this.area) return tell('drag over an area first');
    this.kept.push(this.area);
    this.area = null;
    this.select(null);
    return tell(`kept: ${formatNs(this.kept[this.kept.length - 1].to - this.kept[this.kept.length - 1].from)}`);
  }
  pin() {
    const lane = this.selected ? this.selected.track.lane : this.hovered && this.hovered.lane;
    if (!lane) return;
    const pins = pinsOf(),
      key = keyOfLane(lane);
    if (!pins.delete(key)) pins.add(key);
    setState({ pin: [...pins].join(',') || null, area: null }, true);
    this.rows = layOut(events, getState('profile'), pins);
    this.area = null;
    this.kept = [];
    this.scroll = 0;
    this.draw();
  }
  drawer() {
    this.root.classList.toggle('without-details');
    this.draw();
  }
  toCause() {
    const cause = this.selected && causeOf(events.tracks, this.selected);
    if (cause) this.select(cause, true);
    else tell('what caused it is not known');
  }
  handOver() {
    const groups = new Map();
    for (const row of this.rows) {
      if (!row.track) continue;
      if (!groups.has(row.group)) groups.set(row.group, { title: row.group, tracks: [] });
      groups.get(row.group).tracks.push(row.track);
    }
    const text = traceOf(events.names, [...groups.values()], this.from, this.to, MOST_HANDED_OVER);
    if (text) download('window.json', 'application/json', text);
    this.said.textContent = text
      ? 'window.json: open it at ui.perfetto.dev, which reads it in the browser'
      : `more than ${formatCount(MOST_HANDED_OVER)} events: zoom in first, or SELECT tfprof_timeline('run.json.gz')`;
  }
  // For the palette: [text, key, action].
  commands() {
    return [
      ['show everything', '0', () => this.show(events.start, events.end)],
      ['fit the selection', 'F', () => this.fit()],
      ['search all events', '/', () => this.input.focus()],
      ['next step', ']', () => this.step(1)],
      ['previous step', '[', () => this.step(-1)],
      ['keep the measured area', 'M', () => this.measure()],
      ['pin the lane', 'P', () => this.pin()],
      ['details away and back', 'Q', () => this.drawer()],
      ['go to what caused the event', 'C', () => this.toCause()],
      ['critical path, findings and idle devices: show or hide', null, () => this.toggleMarks()],
      ['hand the window over to Perfetto', null, () => this.handOver()],
      ['keys', '?', () => this.explain()],
    ];
  }

  at(event) {
    const row = this.rows[this.rowAt(event.offsetY)];
    if (!row || !row.track || event.offsetX < GUTTER || event.offsetY < this.top) return null;
    const slack = ((this.to - this.from) / this.width) * 3,
      time = this.timeAt(event.offsetX);
    let best = null,
      distance = slack;
    for (
      let i = Math.max(0, firstTouching(row.track, time - slack));
      i < row.track.starts.length && row.track.starts[i] <= time + slack;
      i++
    ) {
      const start = row.track.starts[i],
        end = start + row.track.lengths[i];
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
        this.hovered = this.rows[this.rowAt(event.offsetY)];
        const said = this.saidAt(event);
        if (said !== null) {
          this.canvas.title = said;
          return;
        }
        this.canvas.title = found
          ? `${events.names[found.track.names[found.i]][0]}: ${formatNs(found.track.lengths[found.i])}` +
            (countOf(found.track, found.i) > 1 ? `, ${countOf(found.track, found.i)} events` : '')
          : '';
        return;
      }
      if (Math.abs(event.offsetX - drag.x) < 4 && !drag.has) return;
      drag.has = true;
      if (drag.isPan) {
        const by = ((drag.x - event.offsetX) / this.width) * (drag.to - drag.from);
        this.show(drag.from + by, drag.to + by, true);
        return;
      }
      const times = [this.timeAt(drag.x), this.timeAt(Math.max(GUTTER, event.offsetX))].sort((a, b) => a - b);
      const lines = [this.rowAt(drag.y), this.rowAt(event.offsetY)]
        .map((row) => Math.max(0, Math.min(row, this.rows.length - 1)))
        .sort((a, b) => a - b);
      this.area = { from: times[0], to: times[1], top: lines[0], bottom: lines[1] };
      this.selected = null;
      this.chain = null;
      this.draw();
    });
    const release = (event) => {
      if (!drag) return;
      const { has, isPan } = drag;
      drag = null;
      if (has && !isPan) {
        this.keepSelection();
        this.describe();
      } else if (!has && event.target === this.canvas) {
        this.area = null;
        this.select(this.at(event));
      }
    };
    addEventListener('mouseup', release);
    this.stop = () => removeEventListener('mouseup', release);
    this.canvas.addEventListener('dblclick', () => this.fit());
    this.canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.003), this.timeAt(event.offsetX));
        else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          this.pan((event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) / this.width);
        else {
          this.scroll += event.deltaY;
          this.draw();
        }
      },
      { passive: false },
    );
    const jump = (event) => {
      if (event.buttons !== 1 && event.type !== 'click') return;
      const at =
        events.start + ((event.offsetX - GUTTER) / (this.strip.clientWidth - GUTTER)) * (events.end - events.start);
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
    const { track, i } = this.selected,
      length = Math.max(track.lengths[i], 100);
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
    const row = this.rows.find(
      (each) => each.track && each.y >= this.top && firstTouching(each.track, this.from) < each.track.starts.length,
    );
    return row ? { track: row.track, i: firstTouching(row.track, this.from) } : null;
  }
  // What lies around the event in the same lane, or below its middle.
  upOrDown(by) {
    if (!this.selected) return this.beside(0);
    const { track, i } = this.selected,
      middle = track.starts[i] + track.lengths[i] / 2;
    const other = events.tracks.find((each) => each.lane === track.lane && each.depth === track.depth + by);
    if (!other) return undefined;
    const at = firstTouching(other, by < 0 ? middle : track.starts[i]);
    return at < other.starts.length ? this.select({ track: other, i: at }, true) : undefined;
  }

  explain() {
    const keys = [
      ['W S, ctrl-wheel', 'zoom'],
      ['A D, shift-drag, shift-wheel', 'pan'],
      ['drag', 'an area and its statistics'],
      ['F, double click', 'fit the selection'],
      ['0', 'everything'],
      ['← →', 'event before, after'],
      ['↑ ↓', 'around it, in it'],
      ['C', 'to what caused it'],
      ['/ Enter shift-Enter Esc', 'search, next, before, away'],
      ['[ ]', 'step before, after'],
      ['M', 'keep the area with its length'],
      ['P', 'pin the lane on top, or no more'],
      ['Q', 'details away and back'],
      ['ctrl-K', 'all commands'],
      ['alt-← →', 'where you were'],
    ];
    this.area = this.selected = null;
    this.details.classList.remove('idle');
    this.details.replaceChildren(
      element('h3', {}, 'Keys'),
      element(
        'dl.keys',
        {},
        ...keys.map(([key, text]) => element('div', {}, element('dt', {}, key), element('dd', {}, text))),
      ),
    );
  }

  // Zooms and pans for as long as a key is held, ever faster.
  hold(code) {
    if (this.held.has(code)) return;
    this.held.add(code);
    const begin = performance.now();
    let last = begin;
    const move = (now) => {
      if (!this.held.has(code) || !this.canvas.isConnected) return;
      const speed = (Math.min(6, 1 + (now - begin) / 400) * Math.min(50, now - last)) / 1000;
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
    const actions = {
      KeyM: () => this.measure(),
      KeyP: () => this.pin(),
      KeyQ: () => this.drawer(),
      KeyC: () => this.toCause(),
      KeyF: () => this.fit(),
      Digit0: () => this.show(events.start, events.end),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      Comma: () => this.beside(-1),
      Period: () => this.beside(1),
      ArrowUp: () => this.upOrDown(-1),
      ArrowDown: () => this.upOrDown(1),
      BracketLeft: () => this.step(-1),
      BracketRight: () => this.step(1),
      Enter: () => this.next(event.shiftKey ? -1 : 1),
      Escape: () => {
        this.area = null;
        this.kept = [];
        this.select(null);
      },
    };
    if (event.key === '/') this.input.focus();
    else if (event.key === '?') this.explain();
    else if (/^Key[WASD]$/.test(event.code)) this.hold(event.code);
    else if (actions[event.code]) actions[event.code]();
    else return false;
    return true;
  }
}

// ---- of a server ----

async function readServedEvents(progress) {
  const answer = await askEvents(),
    { head } = answer,
    all = await readEvents(progress, answer);
  Object.assign(run, { bucket_ns: head.bucket_ns, events: head.all, cells: head.cells });
  whole = head.bucket_ns ? { all, bucket: head.bucket_ns, from: all.start, to: all.end } : null;
  return all;
}

// The window three times over, by half a pixel, where what is there is coarser or ends in it.
async function askDetail() {
  const shown = shownTimeline(),
    mine = whole;
  if (!shown || !mine) return;
  const { from, to } = shown,
    length = to - from,
    pixel = length / shown.width;
  if (from >= mine.from && to <= mine.to && mine.bucket <= pixel && mine.bucket * 16 > pixel) return;
  const part = [Math.floor(from - length), Math.ceil(to + length)],
    bucket = 2 ** Math.floor(Math.log2(Math.max(1, pixel / 2)));
  try {
    const answer = await askEvents({ window: part.join('~'), bucket: bucket > 1 ? bucket : 0 });
    const found = await readEvents(() => {}, answer);
    if (mine !== whole) return;
    Object.assign(whole, { bucket: Math.max(1, answer.head.bucket_ns), from: part[0], to: part[1] });
    events = insertEvents(whole.all, found);
    if (!shownTimeline()) return;
    const { density } = timeline;
    timeline.takeOthers();
    timeline.density = density; // of the whole
    performance.mark('detail');
  } catch (error) {
    if (error.status !== 409) tell(`the server did not answer: ${error.message}`);
  }
}

// Rows have come: everything anew. A window that reached the end still does.
export async function reloadTimeline() {
  const shown = shownTimeline();
  if (!shown) {
    events = whole = null;
    return;
  }
  const { end } = events,
    isAtEnd = Boolean(getState('t')) && shown.to >= end;
  const fresh = await readServedEvents(() => {});
  if (timeline !== shown) return;
  events = withCurves(fresh);
  if (isAtEnd) [shown.from, shown.to] = [shown.from + events.end - end, shown.to + events.end - end];
  else if (!getState('t') && !stateSteps()) [shown.from, shown.to] = [events.start, events.end];
  shown.takeOthers();
  shown.lookCloser();
  if (isAtEnd) setState({ t: `${Math.round(shown.from)}~${Math.round(shown.to)}` }, true);
}

// Marks and curves have come.
export function remarkTimeline() {
  const shown = shownTimeline();
  if (!shown) return;
  const { density } = shown;
  shown.takeOthers();
  shown.density = density;
}

// Where there are no events, memory and counters may have a place in time.
function withCurves(read) {
  if (read.tracks.length) return read;
  const times = curvesOf().flatMap((curve) => curve.times);
  if (!times.length) return read;
  const start = times.reduce((a, b) => Math.min(a, b)),
    end = times.reduce((a, b) => Math.max(a, b), start + 1);
  return { ...read, start, end };
}

export function forgetEvents() {
  events = whole = null;
}

// Shows the timeline in the element.
export async function showTimeline(root) {
  if (timeline) timeline.stop();
  timeline = null;
  if (!run.has_events) {
    root.replaceChildren(
      element('p.empty', {}, 'This file was written without events: tfprof report without --no-events has them.'),
    );
    return null;
  }
  if (!events) {
    const bar = element('progress', { max: '1', value: '0', 'aria-label': 'reading events' });
    root.replaceChildren(element('p.note', {}, `reading ${formatCount(run.events)} events `, bar));
    try {
      events = isServed
        ? await readServedEvents((part) => {
            bar.value = part;
          })
        : await readEvents((part) => {
            bar.value = part;
          });
    } catch (error) {
      root.replaceChildren(element('p.empty', {}, `The server did not answer: ${error.message}`));
      return null;
    }
    performance.mark('events');
  }
  if (!root.isConnected) return null;
  events = withCurves(events);
  if (!events.tracks.length && !curvesOf().length) {
    root.replaceChildren(element('p.empty', {}, 'Nothing with a place in time was recorded.'));
    return null;
  }
  timeline = new Timeline(root);
  return timeline;
}

onState((now, before) => {
  if (timeline && timeline.canvas.isConnected && now.page === before.page) timeline.follow(now, before);
});

export const shownTimeline = () => (timeline && timeline.canvas.isConnected ? timeline : null);
