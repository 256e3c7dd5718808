// data.js: the rows that the file holds, by panel; and the panel's own words, from the comment of its SQL
// (sql/README.md says which there are).
import { getState, stateSteps } from './state.js';
import { isServed, servedPage } from './served.js';

const panels = new Map();
export let run = {};

// A cell that is [row] has the text that its column has in that row.
function wholeRows(rows) {
  for (const row of rows) for (let i = 0; i < row.length; i++) if (Array.isArray(row[i])) row[i] = rows[row[i][0]][i];
  return rows;
}

function parsePanel(raw) {
  const comment = raw.sql
    .split('\n')
    .filter((line) => line.startsWith('-- '))
    .map((line) => line.slice(3));
  const panel = {
    name: raw.name,
    sql: raw.sql,
    error: raw.error,
    columns: raw.columns,
    all: wholeRows(raw.rows),
    title: comment[0],
    sentence: '',
    keys: {},
    at(column) {
      return this.columns.indexOf(column);
    },
  };
  for (const line of comment.slice(1)) {
    const match = /^([a-z]+): (.+)$/.exec(line);
    if (match) panel.keys[match[1]] = match[2];
    else panel.sentence += (panel.sentence ? ' ' : '') + line;
  }
  panel.places = [panel.keys.page || 'overview 999', ...(panel.keys.also ? [panel.keys.also] : [])].map((words) => {
    const [page, place] = words.split(' ');
    return { page, place: Number(place) };
  });
  [{ page: panel.page, place: panel.place }] = panel.places;
  const last = /\bLIMIT (\d+)[\s;]*$/.exec(raw.sql); // of the whole, not of a SELECT within it
  panel.limit = last ? Number(last[1]) : Infinity;
  return panel;
}

// A served page has the words of its panels, and asks for the rows.
function readServed() {
  run = {
    title: 'tfprof',
    runs: 'RUN',
    release: servedPage.release,
    steps: null,
    has_events: true,
    bucket_ns: 0,
    events: 0,
    cells: 0,
  };
  for (const { name, sql } of servedPage.panels)
    panels.set(name, { ...parsePanel({ name, sql, error: null, columns: [], rows: [] }), isWaiting: true });
}

export function takeRows(name, answer, error) {
  const panel = panels.get(name);
  panel.isWaiting = false;
  panel.error = answer ? answer.error : error.message;
  if (answer) [panel.columns, panel.all] = [answer.columns, wholeRows(answer.rows)];
}

// Of a file: the bytes of an element.
export function bytesOf(id) {
  const script = document.getElementById(id);
  if (!script) return null;
  const text = script.textContent;
  script.remove();
  return Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// What a zlib stream holds.
export const inflated = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate')));

export async function readPanels() {
  if (isServed) {
    readServed();
    return;
  }
  run = JSON.parse(document.getElementById('run').textContent);
  for (const raw of await inflated(bytesOf('panels')).json()) panels.set(raw.name, parsePanel(raw));
}

export const panelOf = (name) => panels.get(name);
export const placeOn = (panel, page) => panel.places.find((each) => each.page === page);
export const panelsOf = (page) =>
  [...panels.values()]
    .filter((panel) => placeOn(panel, page))
    .sort((a, b) => placeOn(a, page).place - placeOn(b, page).place);
export const allPanels = () => [...panels.values()];

// What a process is called everywhere: rank 3, process 1234, host a.
export function processName(profile) {
  const open = panels.get('processes'),
    row = open && open.all.find((each) => each[open.at('profile_id')] === profile);
  return ((row && row[open.at('name')]) || `process ${profile}`).replace(/^.*\/(?=.)/, ''); // of a path the file
}

// The rows of the profile and of the steps that are looked at.
export function rowsOf(panel) {
  const profile = getState('profile'),
    steps = stateSteps();
  const profileAt = panel.at('profile_id'),
    stepAt = panel.keys.step ? panel.at(panel.keys.step) : -1;
  return panel.all.filter(
    (row) =>
      (!profile || profileAt < 0 || String(row[profileAt]) === profile) &&
      (!steps || stepAt < 0 || (row[stepAt] >= steps[0] && row[stepAt] <= steps[1])),
  );
}

// When the steps that are chosen ran, those of one process or of all: [from, to].
export function stepWindow() {
  const steps = stateSteps(),
    marks = panels.get('step_marks');
  if (!steps || !marks) return null;
  const [number, from, length] = ['number', 'at_ns', 'dur_ns'].map((column) => marks.at(column));
  const inside = rowsOf(marks).filter((row) => row[number] >= steps[0] && row[number] <= steps[1]);
  return inside.length
    ? [
        inside.reduce((least, row) => Math.min(least, row[from]), Infinity),
        inside.reduce((most, row) => Math.max(most, row[from] + row[length]), -Infinity),
      ]
    : null;
}

// Charts that show times by themselves.
const byWindow = new Set(['blocks', 'addresses', 'findings']);
export const isByTime = (panel) => panel.at('at_ns') >= 0 && !panel.keys.step && !byWindow.has(panel.keys.chart);

// What of the rows lies in the steps that are chosen; of what holds until the next row also what held when they began.
export function rowsInSteps(panel) {
  const rows = rowsOf(panel),
    window = isByTime(panel) ? stepWindow() : null;
  if (!window) return rows;
  const at = panel.at('at_ns'),
    last = new Map(),
    keys = ['profile_id', 'device_id', panel.keys.series, panel.keys.group]
      .map((column) => panel.at(column))
      .filter((column) => column >= 0);
  const inside = rows.filter((row) => row[at] >= window[0] && row[at] < window[1]);
  if (!['area', 'line', 'multiples'].includes(panel.keys.chart)) return inside;
  for (const row of rows) {
    const key = keys.map((column) => row[column]).join('\n'),
      before = last.get(key);
    if (row[at] < window[0] && !(before && before[at] > row[at])) last.set(key, row);
  }
  return [...[...last.values()].map((row) => row.map((value, i) => (i === at ? window[0] : value))), ...inside];
}

// What is in use of each memory, by its name: [time, bytes of all categories together] in order. A category holds its
// last.
export function memoryTotals() {
  const panel = panels.get('memory_over_time'),
    totals = new Map(),
    last = new Map();
  if (!panel || !panel.all.length) return totals;
  const at = (name) => panel.at(name);
  for (const row of rowsOf(panel).sort((a, b) => a[at('at_ns')] - b[at('at_ns')])) {
    const memory = String(row[at('device')]),
      time = row[at('at_ns')];
    if (!totals.has(memory)) {
      totals.set(memory, []);
      last.set(memory, new Map());
    }
    const points = totals.get(memory);
    last.get(memory).set(row[at('category')], row[at('bytes')]);
    const sum = [...last.get(memory).values()].reduce((all, bytes) => all + Math.max(0, bytes), 0);
    if (points.length && points[points.length - 1][0] === time) points[points.length - 1][1] = sum;
    else points.push([time, sum]);
  }
  return totals;
}

// ---- what is downloaded ----

function csvCell(value) {
  if (value === null) return '';
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export const csvOf = (columns, rows) =>
  [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
export const jsonOf = (columns, rows) =>
  JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]]))),
    null,
    1,
  );

export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
