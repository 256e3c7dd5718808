// charts.js: bars, stacks, lines, areas, histograms and heat maps.  Lines over steps or time are uPlot's; the rest is
// made of elements.  Colours are those of categories everywhere (Okabe and Ito, 2008, with a
// grey that is not their pink for those who do not see green), in the order of the stack.
import { element, setState, tell } from './state.js';
import { formatTicks, formatUnit, titleOf } from './units.js';

export const colours = {
  kernel: '#0072B2',
  memcpy: '#56B4E9',
  memset: '#CC79A7',
  communication: '#E69F00',
  runtime: '#009E73',
  data_loader: '#F0E442',
  cpu: '#D55E00',
  compile: '#880044',
  other: '#BBBBBB',
};
const order = ['kernel', 'memcpy', 'memset', 'communication', 'runtime', 'data_loader', 'cpu', 'compile', 'other'];
const sameAs = {
  op: 'cpu',
  autograd: 'memset',
  user: 'runtime',
  range: 'runtime',
  module: 'runtime',
  input: 'data_loader',
  python: 'other',
  rest: 'other',
  outside: 'other',
  wait: 'communication',
  compute: 'kernel',
  computation: 'kernel',
  device_to_device: 'memcpy',
  collectives: 'communication',
  host_compute: 'cpu',
  host: 'cpu',
  copy: 'memcpy',
  loading: 'data_loader',
  launch: 'runtime',
  output: 'memset',
  non_compute: 'memcpy',
  idle: 'other',
  overlap: 'runtime',
  receive: 'memcpy',
  dur: 'cpu',
  parameter: 'kernel',
  activation: 'memset',
  gradient: 'cpu',
  optimizer_state: 'runtime',
  temporary: 'memcpy',
  autograd_detail: 'compile',
  persistent: 'communication',
  unknown: 'other',
};

// The category's own, or one by its place.
export function colourOf(word, place = 0) {
  const key = word.replace(/_ns$/, '');
  return colours[key] || colours[sameAs[key]] || colours[order[place % order.length]];
}

const partsOf = (fill) =>
  fill[0] === '#' ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)) : fill.match(/\d+/g).map(Number);
function luminance(parts) {
  const [r, g, b] = parts.map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white, whichever is read better on #rrggbb or rgb(r g b): one of them always has a contrast of 4.5.
export const inkOn = (fill) => (luminance(partsOf(fill)) > 0.179 ? '#000' : '#fff');

// The colour as a thin line, which has no edge: darker or lighter until it has a contrast of 3 to the ground.
export function lineColour(fill, ground = token('--ground')) {
  const back = luminance(partsOf(ground.length === 4 ? ground.replace(/[0-9a-f]/gi, '$&$&') : ground)),
    isDark = back < 0.179;
  let parts = partsOf(fill);
  const contrast = () => {
    const front = luminance(parts);
    return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
  };
  for (let i = 0; i < 30 && contrast() < 3; i++)
    parts = parts.map((value) => Math.round(isDark ? 255 - 0.93 * (255 - value) : 0.93 * value));
  return `rgb(${parts.join(' ')})`;
}

// A colour of page.css.
export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function legend(names, place = (name, i) => colourOf(name, i)) {
  return element(
    'ul.legend',
    {},
    ...names.map((name, i) => {
      const mark = element('span.mark', {});
      mark.style.background = place(name, i);
      return element('li', {}, mark, titleOf(name));
    }),
  );
}

// ---- bars ----

export function makeBars(rows, labelOf, valueAt, unit, noteAt = -1) {
  const most = Math.max(...rows.map((row) => row[valueAt] || 0), 0);
  return element(
    'ol.bars',
    {},
    ...rows.map((row) => {
      const bar = element('span.bar', {});
      bar.style.width = `${most > 0 ? (100 * Math.max(0, row[valueAt])) / most : 0}%`;
      const label = labelOf(row);
      return element(
        'li',
        {},
        element('span.label', { title: label }, label),
        element('span.number', { title: String(row[valueAt]) }, formatUnit(row[valueAt], unit)),
        noteAt >= 0 && row[noteAt] !== null
          ? element('code', { title: String(row[noteAt]) }, String(row[noteAt]))
          : null,
        element('span.ground', {}, bar),
      );
    }),
  );
}

const MOST_BARS = 64;

export function makeStackedBars(allRows, labelOf, columns, places) {
  const rows = allRows.slice(0, MOST_BARS),
    left = allRows.length - rows.length;
  const totals = rows.map((row) => places.reduce((sum, at) => sum + (row[at] || 0), 0));
  const most = Math.max(...totals, 0);
  return element(
    'div',
    {},
    legend(columns),
    element(
      'ol.bars',
      {},
      ...rows.map((row, i) => {
        const ground = element('span.ground.parts', {});
        columns.forEach((column, k) => {
          const part = element('span.bar', { title: `${titleOf(column)}: ${formatUnit(row[places[k]], 'ns')}` });
          part.style.width = `${most > 0 ? (100 * (row[places[k]] || 0)) / most : 0}%`;
          part.style.background = colourOf(column, k);
          ground.append(part);
        });
        return element(
          'li',
          {},
          element('span.label', {}, labelOf(row)),
          element('span.number', {}, formatUnit(totals[i], 'ns')),
          ground,
        );
      }),
    ),
    left > 0 ? element('p.note', {}, `${left.toLocaleString('en')} more are in the table`) : '',
  );
}

// ---- over steps and time ----

const plots = new Set();
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.plot && target.clientWidth > 0)
      target.plot.setSize({ width: target.clientWidth, height: target.height });
  }
});

// Arrows go from value to value, with shift they choose a range; Enter takes it, as a drag does; Escape: all of it.
function listenToKeys(holder, plot, xUnit, isBrush) {
  const [xs] = plot.data,
    last = xs.length - 1,
    pos = (i) => plot.valToPos(xs[i], 'x');
  let at = -1,
    start = -1;
  holder.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.code];
    if (by) {
      start = event.shiftKey ? (start < 0 ? Math.max(at, 0) : start) : -1;
      at = Math.max(0, Math.min(last, at + by));
      const height = plot.over.clientHeight,
        ends = [at, start < 0 ? at : start].map(pos).sort((a, b) => a - b);
      plot.setCursor({ left: pos(at), top: height / 2 });
      plot.setSelect({ left: ends[0], width: ends[1] - ends[0], top: 0, height }, false);
      tell(
        `${formatUnit(xs[at], xUnit)}: ${plot.series
          .slice(1)
          .map((each, k) => `${each.label} ${each.value(plot, 0, k + 1, at)}`)
          .join(', ')}`,
      );
    } else if (event.code === 'Enter' && at >= 0) {
      const [from, to] = [at, start < 0 ? at : start].map((i) => xs[i]).sort((a, b) => a - b);
      if (isBrush) setState({ steps: `${from}-${to}` });
      else if (from < to) plot.setScale('x', { min: from, max: to });
      else if (xUnit === 'ns') setState({ at: String(from) }, true);
    } else if (event.code === 'Escape') {
      if (isBrush) setState({ steps: null });
      else plot.setScale('x', { min: xs[0], max: xs[last] });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// Behind the steps [first, last] that are warm-up, which statistics leave out.
const shade =
  ([first, last]) =>
  (plot) => {
    const { ctx, bbox } = plot,
      edge = (x) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, plot.valToPos(x, 'x', true)));
    const from = edge(first - 0.5),
      to = edge(last + 0.5);
    ctx.save();
    ctx.fillStyle = token('--quiet');
    ctx.globalAlpha = 0.15;
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.globalAlpha = 1;
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textBaseline = 'top';
    ctx.textAlign = 'right';
    if (to > from) ctx.fillText('warm-up', to - 3 * devicePixelRatio, bbox.top + 2 * devicePixelRatio);
    ctx.restore();
  };

// Draws when it is in the page and has a width.
function mount(holder, height, options, data, isBrush) {
  holder.height = height;
  // Whole steps and counts, and bytes by powers of two.
  const increments = (unit) =>
    unit === 'id' || unit === 'count'
      ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6]
      : unit === 'bytes' || unit === 'rate'
        ? Array.from({ length: 50 }, (_, i) => 2 ** i)
        : undefined;
  const axis = (values, unit) => ({
    incrs: increments(unit),
    stroke: token('--quiet'),
    grid: { stroke: token('--line'), width: 1 },
    ticks: { stroke: token('--line'), width: 1 },
    font: '12px system-ui',
    values,
  });
  requestAnimationFrame(() => {
    if (!holder.isConnected) return;
    const plot = new uPlot(
      {
        width: Math.max(holder.clientWidth, 100),
        height,
        legend: { show: true, live: true },
        cursor: {
          drag: { x: true, y: false, setScale: !isBrush },
          focus: { prox: 16 },
          ...(options.isTime ? { sync: { key: 'time', setSeries: false } } : {}),
        },
        axes: [
          axis((u, ticks) => formatTicks(ticks, options.xUnit), options.xUnit),
          { ...axis((u, ticks) => formatTicks(ticks, options.unit), options.unit), size: 72 },
          ...(options.hasRight
            ? [
                {
                  ...axis((u, ticks) => formatTicks(ticks, 'ratio')),
                  scale: 'right',
                  side: 1,
                  size: 56,
                  grid: { show: false },
                },
              ]
            : []),
        ],
        scales: {
          x: {
            time: false,
            ...(options.range || options.xUnit === 'id'
              ? { range: (u, low, high) => options.range || [low - 0.6, high + 0.6] }
              : {}),
          },
          y: {
            range: (u, low, high) => [
              Math.min(0, low || 0),
              high > 0 ? Math.min(high * 1.05, options.ceiling || Infinity) : 1,
            ],
          },
          right: { range: [0, 1] },
        },
        hooks: options.warmup
          ? { drawClear: [shade(options.warmup)] }
          : options.isTime
            ? {
                ready: [
                  (u) =>
                    u.over.addEventListener('click', () => {
                      if (u.cursor.idx !== null)
                        setState({ at: String(Math.round(u.posToVal(u.cursor.left, 'x'))) }, true);
                    }),
                ],
              }
            : {},
        ...options.plot,
      },
      data,
      holder,
    );
    holder.plot = plot;
    plots.add(plot);
    observer.observe(holder);
    listenToKeys(holder, plot, options.xUnit, isBrush);
    if (isBrush) {
      plot.over.addEventListener('mouseup', () => {
        const { left, width } = plot.select;
        if (width < 3) return;
        const from = Math.ceil(plot.posToVal(left, 'x')),
          to = Math.floor(plot.posToVal(left + width, 'x'));
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        if (to >= from) setState({ steps: `${from}-${to}` });
      });
    }
  });
  return holder;
}

// What a screen reader says of a picture; the rows stand beside it as a table.
const plotHolder = (title, warmup = null) => {
  const ofWarmup = warmup ? `; steps ${warmup[0]} to ${warmup[1]} are warm-up` : '';
  return element('div.plot', {
    role: 'application',
    tabindex: '0',
    'aria-label':
      `${title ? `${title}: ` : ''}a chart: arrows, shift and Enter choose a range, Escape all; ` +
      `its rows are in the table below${ofWarmup}`,
  });
};

// What the x of a value is: of steps whether they are warm-up.
const labelOfX = (xUnit, warmup) => ({
  label: xUnit === 'id' ? 'step' : 'time',
  value: (u, value) =>
    value === null
      ? ''
      : formatUnit(value, xUnit) + (warmup && value >= warmup[0] && value <= warmup[1] ? ' (warm-up)' : ''),
});

function series(name, unit, colour, fill, raw) {
  const isSparse = !fill && raw.filter((value) => value !== null).length < 3; // no line to be seen
  return {
    label: titleOf(name),
    stroke: colour,
    fill,
    width: fill ? 0.5 : 1.5,
    points: { show: isSparse, size: 6 },
    spanGaps: true,
    value: (u, value, s, i) => (i === null || i === undefined ? '' : formatUnit(raw[i], unit)),
  };
}

// Up to where values are to be seen, where a few lie so far above the others that those would be none: Infinity where
// not.
function ceilingOf(values, times) {
  const sorted = [...values].sort((a, b) => a - b),
    at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  const ceiling = at(0.5) + 8 * (at(0.9) - at(0.5));
  return sorted.length >= 20 && ceiling > 0 && sorted[sorted.length - 1] > times * ceiling ? ceiling : Infinity;
}

// The same by steps: as high as the measured ones, where warm-up is far above.
function ceilingOfSteps(x, sums, warmup) {
  const measured = warmup ? sums.filter((sum, i) => x[i] < warmup[0] || x[i] > warmup[1]) : sums;
  const most = measured.reduce((a, b) => Math.max(a, b), 0),
    ceiling = ceilingOf(measured, 4);
  return ceiling === Infinity && most > 0 && sums.some((sum) => sum > 4 * most) ? 1.5 * most : ceiling;
}

// Areas on each other: the last of the names lies at the bottom of the list and on top of the others.
export function makeStack(
  x,
  names,
  columns,
  xUnit,
  unit,
  { isBrush = false, isStepped = true, height = 240, title = '', warmup = null } = {},
) {
  const sums = Array.from({ length: x.length }, () => 0);
  const stacked = columns.map((values) => values.map((value, i) => (sums[i] += value || 0)));
  const shown = names.map((name, i) => i).filter((i) => columns[i].some((value) => value));
  const path = isStepped && x.length < 2000 ? uPlot.paths.bars({ size: [0.9, 60], gap: 0 }) : undefined;
  const list = shown.reverse(),
    ceiling = xUnit === 'id' ? ceilingOfSteps(x, sums, warmup) : Infinity,
    above = sums.filter((sum) => sum > ceiling);
  const holder = mount(
    plotHolder(title, warmup),
    height,
    {
      xUnit,
      unit,
      isTime: xUnit === 'ns',
      ceiling,
      warmup,
      plot: {
        series: [
          labelOfX(xUnit, warmup),
          ...list.map((i) => ({
            ...series(names[i], unit, colourOf(names[i], i), colourOf(names[i], i), columns[i]),
            ...(path ? { paths: path } : { paths: uPlot.paths.stepped({ align: 1 }) }),
          })),
        ],
      },
    },
    [x, ...list.map((i) => stacked[i])],
    isBrush,
  );
  return above.length
    ? element(
        'div',
        {},
        element(
          'p.note',
          {},
          `▲ ${above.length.toLocaleString('en')} of ` +
            `${sums.length.toLocaleString('en')} are higher than the chart, up to ${formatUnit(
              above.reduce((a, b) => Math.max(a, b)),
              unit,
            )}.`,
        ),
        holder,
      )
    : holder;
}

// `right`: values from 0 to 1 with an axis of their own, to the right.
export function makeLines(
  x,
  names,
  columns,
  xUnit,
  unit,
  { isBrush = false, height = 200, title = '', right = null, range = null, warmup = null } = {},
) {
  return mount(
    plotHolder(title, warmup),
    height,
    {
      xUnit,
      unit,
      isTime: xUnit === 'ns',
      hasRight: right !== null,
      range,
      warmup,
      plot: {
        series: [
          labelOfX(xUnit, warmup),
          ...names.map((name, i) => series(name, unit, lineColour(colourOf(name, i)), undefined, columns[i])),
          ...(right
            ? [
                {
                  ...series(right.name, 'ratio', token('--quiet'), undefined, right.values),
                  scale: 'right',
                  dash: [4, 3],
                },
              ]
            : []),
        ],
      },
    },
    [x, ...columns, ...(right ? [right.values] : [])],
    isBrush,
  );
}

// How many rows lie in each of at most forty equal stretches.
export function makeHistogram(values, unit, title, { low = Math.min(...values), high = null } = {}) {
  const most = Math.max(...values),
    ceiling = high === null ? ceilingOf(values, 2) : Infinity,
    above = values.filter((value) => value > ceiling);
  high = high ?? Math.min(most, ceiling);
  const bins = Math.max(1, Math.min(40, Math.ceil(2 * Math.sqrt(values.length))));
  const width = (high - low) / bins || Math.max(1, Math.abs(low) * 0.01);
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value - low) / width))]++;
  const middles = counts.map((count, i) => low + width * (i + 0.5));
  const holder = mount(
    plotHolder(title),
    200,
    {
      xUnit: unit,
      unit: 'count',
      range: [low, low + width * bins],
      plot: {
        series: [
          { label: title, value: (u, value) => (value === null ? '' : formatUnit(value, unit)) },
          {
            ...series('count', 'plain', colours.kernel, colours.kernel, counts),
            paths: uPlot.paths.bars({ size: [0.95, 80] }),
          },
        ],
      },
    },
    [middles, counts],
    false,
  );
  return above.length
    ? element(
        'div',
        {},
        element(
          'p.note',
          {},
          `The last bar has ${above.length.toLocaleString('en')} that take longer, ` +
            `up to ${formatUnit(most, unit)}.`,
        ),
        holder,
      )
    : holder;
}

// Counts by bins that are there already, a bar each: label, number and how many.
export function makeHistogramOf(froms, tos, counts, unit, title) {
  const most = Math.max(...counts, 1);
  return element(
    'ol.bins',
    { 'aria-label': title },
    ...froms.map((from, i) => {
      const bar = element('span.bar', {});
      bar.style.width = `${(100 * counts[i]) / most}%`;
      return element(
        'li',
        {},
        element('span.number', {}, `${formatUnit(from, unit)} – ${formatUnit(tos[i], unit)}`),
        element('span.ground', {}, bar),
        element('span.number', {}, counts[i].toLocaleString('en')),
      );
    }),
  );
}

// ---- heat ----

// cividis, which those who cannot tell red from green read as others do (Nuñez, Anderton and Renslow, 2018).
const cividis = [
  [0, 32, 76],
  [0, 42, 102],
  [35, 62, 108],
  [72, 81, 107],
  [102, 101, 111],
  [128, 122, 117],
  [156, 144, 116],
  [186, 167, 107],
  [217, 191, 90],
  [255, 233, 69],
];
export function heatColour(share) {
  const at = Math.max(0, Math.min(1, share)) * (cividis.length - 1),
    low = Math.floor(at),
    part = at - low;
  const next = cividis[Math.min(low + 1, cividis.length - 1)];
  return `rgb(${cividis[low].map((value, i) => Math.round(value + (next[i] - value) * part)).join(' ')})`;
}

const HEAT_WIDTH = 1000,
  HEAT_HEIGHT = 640;

// Values in order, as many together as there is no room for: the place of each, and the first of each place.
function heatPlaces(values, room) {
  const sorted = [...new Set(values)].sort((a, b) => a - b),
    by = Math.ceil(sorted.length / room);
  return {
    placeOf: new Map(sorted.map((value, i) => [value, Math.floor(i / by)])),
    by,
    firsts: sorted.filter((value, i) => i % by === 0),
  };
}

// A cell for each x and y, with a scale; where they are too many for their pixels, the most of those that share a cell.
export function makeHeat(rows, xAt, yAt, valueAt, unit, xTitle, yTitle, open, nameOf = String) {
  const xs = heatPlaces(
      rows.map((row) => row[xAt]),
      HEAT_WIDTH / 3,
    ),
    ys = heatPlaces(
      rows.map((row) => row[yAt]),
      HEAT_HEIGHT / 3,
    );
  const columns = xs.firsts.length,
    lines = ys.firsts.length,
    cells = new Map();
  const cellOf = (x, y) => cells.get(y * columns + x);
  let most = 0;
  for (const row of rows) {
    const key = ys.placeOf.get(row[yAt]) * columns + xs.placeOf.get(row[xAt]),
      before = cells.get(key);
    most = Math.max(most, row[valueAt] || 0);
    if (!before || (row[valueAt] || 0) > (before[valueAt] || 0)) cells.set(key, row);
  }
  const canvas = element('canvas', {
    role: 'application',
    tabindex: '0',
    'aria-label': `${yTitle} by ${xTitle}: arrows go from ` + 'cell to cell, Enter opens one in the timeline',
  });
  const said = element('p.note', { 'aria-live': 'polite' }, '\u00a0');
  let atX = 0,
    atY = 0;
  const wide = Math.max(3, Math.min(28, Math.floor(HEAT_WIDTH / columns))),
    high = Math.max(3, Math.min(20, Math.floor(HEAT_HEIGHT / lines)));
  const gutter = nameOf === String ? 56 : 180;
  const scale = devicePixelRatio || 1,
    width = columns * wide + gutter,
    height = lines * high + 36;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const draw = canvas.getContext('2d');
  draw.scale(scale, scale);
  draw.font = '12px system-ui';
  draw.fillStyle = token('--quiet');
  draw.textAlign = 'right';
  ys.firsts.forEach((y, i) => {
    if (i % Math.ceil(16 / high) === 0) draw.fillText(nameOf(y), gutter - 6, i * high + Math.min(14, high / 2 + 5));
  });
  draw.textAlign = 'left';
  xs.firsts.forEach((x, i) => {
    if (i % Math.ceil(44 / wide) === 0) draw.fillText(String(x), gutter + i * wide, lines * high + 14);
  });
  draw.fillText(xTitle, gutter, lines * high + 30);
  draw.fillText(yTitle, 0, 12);
  for (const [key, row] of cells) {
    draw.fillStyle = heatColour((row[valueAt] || 0) / (most || 1));
    draw.fillRect(
      gutter + (key % columns) * wide,
      Math.floor(key / columns) * high,
      wide - (wide > 4 ? 1 : 0),
      high - (high > 4 ? 1 : 0),
    );
  }
  const tellRow = () => {
    const row = cellOf(atX, atY);
    said.textContent = row
      ? `${yTitle} ${nameOf(row[yAt])}, ${xTitle} ${row[xAt]}: ${formatUnit(row[valueAt], unit)}`
      : '\u00a0';
  };
  const point = (event) => {
    [atX, atY] = [Math.floor((event.offsetX - gutter) / wide), Math.floor(event.offsetY / high)];
  };
  const isInside = () => atX >= 0 && atX < columns && atY >= 0 && atY < lines;
  canvas.addEventListener('mousemove', (event) => {
    point(event);
    if (isInside()) tellRow();
  });
  canvas.addEventListener('click', (event) => {
    point(event);
    if (isInside() && cellOf(atX, atY)) open(cellOf(atX, atY));
  });
  canvas.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.code];
    if (event.code === 'Enter' && cellOf(atX, atY)) open(cellOf(atX, atY));
    if (!by) return;
    event.preventDefault();
    atX = Math.max(0, Math.min(columns - 1, atX + by[0]));
    atY = Math.max(0, Math.min(lines - 1, atY + by[1]));
    tellRow();
  });
  const ramp = element('span.ramp', { 'aria-hidden': 'true' });
  ramp.style.background = `linear-gradient(to right, ${cividis.map((rgb) => `rgb(${rgb.join(' ')})`).join(', ')})`;
  const together = [
    [xs.by, xTitle],
    [ys.by, yTitle],
  ]
    .filter(([by]) => by > 1)
    .map(([by, title]) => `${by} of ${title}`);
  return element(
    'div',
    {},
    element(
      'p.note.scale',
      {},
      formatUnit(0, unit),
      ramp,
      formatUnit(most, unit),
      together.length ? ` · a cell is the most of ${together.join(' and ')}` : null,
    ),
    element('div.scroll', {}, canvas),
    said,
  );
}

// What is no longer in the page.
export function forgetPlotsIn(section) {
  for (const { plot } of section.querySelectorAll('.plot')) {
    if (plot) plot.destroy();
    plots.delete(plot);
  }
}

// Another theme has other colours for axes.
export function forgetPlots() {
  for (const plot of plots) plot.destroy();
  plots.clear();
}
