// timeline_marks.js: what the timeline shows beside events: bands above the lanes (the critical path, gaps of devices
// and the findings that speak of them) and curves below (memory, counters).  All of it comes from panels.
import { memoryTotals, panelOf, processName, rowsOf } from './data.js';
import { colourOf, token } from './charts.js';
import { formatNs } from './units.js';
import { GUTTER } from './timeline_view.js';

export const BAND = 15,
  CURVE = 48;

const pathColours = {
  cpu: 'cpu',
  gpu_compute: 'kernel',
  kernel_launch: 'runtime',
  kernel_kernel: 'other',
  gpu_sync: 'communication',
};
const pathWords = { cpu: 'ops', gpu_compute: 'kernels', kernel_launch: 'launches', kernel_kernel: 'between kernels' };

// Rows of a panel as objects; none where the page has no such panel.
function recordsOf(name) {
  const panel = panelOf(name);
  if (!panel || panel.error) return [];
  const at = panel.columns.map((column) => [column, panel.at(column)]);
  return rowsOf(panel).map((row) => Object.fromEntries(at.map(([column, i]) => [column, row[i]])));
}

// [{name, marks: [{from, to, fill, text}]}], the marks by their start; only bands that have some.
export function bandsOf(profile) {
  const path = recordsOf('mark_path').map((row) => ({
    from: row.at_ns,
    to: row.at_ns + row.dur_ns,
    fill: colourOf(pathColours[row.kind] || row.kind),
    text:
      `critical path: ${pathWords[row.kind] || row.kind}, ${formatNs(row.dur_ns)}` +
      `${profile ? '' : ` (${processName(row.profile_id)})`}`,
  }));
  const said = new Set(recordsOf('findings').map((row) => row.check_name));
  const gaps = [],
    found = [];
  for (const row of recordsOf('mark_gaps')) {
    const isFound = said.has(row.check_name);
    (isFound ? found : gaps).push({
      from: row.at_ns,
      to: row.at_ns + row.dur_ns,
      fill: isFound ? colourOf('communication') : colourOf('other'),
      text:
        `nothing ran on the device for ` +
        `${formatNs(row.dur_ns)}: ${row.reason}${isFound ? `; ${row.check_name} in the findings speaks of it` : ''}`,
    });
  }
  const bands = [
    { name: 'critical path', marks: path },
    { name: 'findings', marks: found },
    { name: 'idle device', marks: gaps },
  ];
  for (const band of bands) band.marks.sort((a, b) => a.from - b.from);
  return bands.filter((band) => band.marks.length);
}

export function drawBand(pen, band, y, view) {
  pen.fillStyle = token('--quiet');
  pen.fillText(band.name, 6, y + BAND / 2);
  const perPixel = (view.to - view.from) / view.width;
  let last = -1;
  for (const { from, to, fill } of band.marks) {
    if (to < view.from || from > view.to) continue;
    const left = Math.max(0, (from - view.from) / perPixel),
      right = Math.min(view.width, (to - view.from) / perPixel);
    if (Math.round(right) <= last) continue; // its pixel has one already
    pen.fillStyle = fill;
    last = Math.max(Math.round(left) + 1, Math.round(right));
    pen.fillRect(GUTTER + Math.round(left), y + 2, last - Math.round(left), BAND - 4);
  }
}

// The mark at a time, or within `slack` of it: the shortest.
export function markAt(band, time, slack) {
  let best = null;
  for (const mark of band.marks) {
    if (mark.from > time + slack) break;
    if (mark.to >= time - slack && (!best || mark.to - mark.from < best.to - best.from)) best = mark;
  }
  return best;
}

// [{name, unit, times, values, most}]: steps from each time to the next.
export function curvesOf() {
  const curves = [],
    groups = new Map();
  const groupOf = (key, name, unit) => {
    if (!groups.has(key)) groups.set(key, { name, unit, points: [] });
    return groups.get(key).points;
  };
  for (const [memory, points] of memoryTotals())
    groupOf(`memory ${memory}`, `memory · ${memory}`, 'bytes').push(...points);
  for (const row of recordsOf('counters_over_time')) {
    const unit = row.unit === 'bytes' || row.unit === 'ratio' || row.unit === 'ns' ? row.unit : 'plain';
    groupOf(`${row.profile_id} ${row.name} ${row.device_id}`, row.name, unit).push([row.at_ns, row.value]);
  }
  for (const { name, unit, points } of groups.values()) {
    points.sort((a, b) => a[0] - b[0]);
    const values = points.map((point) => point[1]);
    curves.push({
      name: name || '–',
      unit,
      times: points.map((point) => point[0]),
      values,
      most: values.reduce((most, value) => Math.max(most, value), 0),
    });
  }
  return curves;
}

// What a curve says at a time; NULL before its first point.
export function valueAt(curve, time) {
  let found = null;
  for (let i = 0; i < curve.times.length && curve.times[i] <= time; i++) found = curve.values[i];
  return found;
}

export function drawCurve(pen, curve, y, view) {
  const perPixel = (view.to - view.from) / view.width,
    high = CURVE - 8,
    bottom = y + CURVE - 2;
  pen.fillStyle = colourOf(curve.unit === 'bytes' ? 'memcpy' : 'runtime');
  for (let i = 0; i < curve.times.length; i++) {
    const end = i + 1 < curve.times.length ? curve.times[i + 1] : view.to;
    if (end < view.from || curve.times[i] > view.to || !(curve.values[i] > 0)) continue;
    const left = Math.max(0, Math.round((curve.times[i] - view.from) / perPixel));
    const right = Math.min(view.width, Math.round((end - view.from) / perPixel));
    const height = Math.max(1, (high * curve.values[i]) / (curve.most || 1));
    pen.fillRect(GUTTER + left, bottom - height, Math.max(1, right - left), height);
  }
  pen.fillStyle = token('--line');
  pen.fillRect(GUTTER, bottom, view.width, 1);
}
