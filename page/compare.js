// compare.js: two sides against each other: one step against the median step, and two runs, processes or ranges of
// steps as before and after, with what chance alone could make of the difference.
import { makeHistogram } from './charts.js';
import { panelOf, processName } from './data.js';
import { element, getState, setState, stateSteps } from './state.js';
import { formatRatio, formatUnit, titleOf, unitOf } from './units.js';

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b),
    middle = sorted.length >> 1;
  return !sorted.length ? null : sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values) => {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
};

// The 97.5 % point of Student's t (Cornish and Fisher's expansion; below five degrees from the table).
function studentPoint(degrees) {
  const table = [12.706, 4.303, 3.182, 2.776];
  if (degrees < 5) return table[Math.max(0, Math.floor(degrees) - 1)];
  const z = 1.959964,
    z3 = z ** 3,
    z5 = z ** 5;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

// How far the difference of two means lies from 0 with 95 % confidence (Welch, 1947): half the interval; NULL where a
// side has fewer than two values.
export function meansError(before, after) {
  if (before.length < 2 || after.length < 2) return null;
  const a = variance(before) / before.length,
    b = variance(after) / after.length;
  if (a + b === 0) return 0;
  const degrees = (a + b) ** 2 / ((a * a) / (before.length - 1) + (b * b) / (after.length - 1));
  return studentPoint(degrees) * Math.sqrt(a + b);
}

// A bar to the left for less, to the right for more; striped where chance alone could have made it.
function differenceBar(part, isSure) {
  const bar = element('span', { class: `difference ${part < 0 ? 'less' : 'more'}${isSure ? '' : ' unsure'}` });
  bar.style.width = `${Math.min(50, Math.abs(part) * 50)}%`;
  bar.style[part < 0 ? 'right' : 'left'] = '50%';
  return element('span.difference-ground', { 'aria-hidden': 'true' }, bar);
}

// rows: {label, a, b, error}; as many as are asked for, those that differ most first.
function differenceTable(rows, unit, heads, caption) {
  const most = Math.max(...rows.map((row) => Math.abs(row.b - row.a)), 1e-9);
  const cell = (value, kind) =>
    element('td.number', { title: value === null ? 'not recorded' : String(value) }, formatUnit(value, kind));
  let count = 25;
  const body = element('tbody');
  const more = element('button.more', {
    onclick: () => {
      count = rows.length;
      fill();
    },
  });
  const fill = () => {
    body.replaceChildren(
      ...rows.slice(0, count).map((row) => {
        const by = row.b - row.a,
          isSure = row.error === undefined || (row.error !== null && Math.abs(by) > row.error);
        return element(
          'tr',
          {},
          element('th', { scope: 'row', class: 'text', title: row.label }, row.label),
          cell(row.a, unit),
          cell(row.b, unit),
          element(
            'td.number',
            { title: String(by) },
            `${by > 0 ? '+' : ''}${formatUnit(by, unit)}${row.error ? ` ± ${formatUnit(row.error, unit)}` : ''}`,
          ),
          element('td.number', {}, row.a ? `${by > 0 ? '+' : ''}${formatRatio(by / row.a)}` : row.b ? 'new' : '–'),
          element('td.wide', {}, differenceBar(by / most, isSure)),
        );
      }),
    );
    more.hidden = rows.length <= count;
    more.textContent = `${rows.length - count} more rows`;
  };
  fill();
  return element(
    'div.scroll',
    { tabindex: '0', role: 'region', 'aria-label': caption },
    element(
      'table.differences',
      {},
      element('caption.unseen', {}, caption),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...heads.map((head, i) => element('th', { scope: 'col', class: i ? 'number' : 'text' }, head)),
        ),
      ),
      body,
    ),
    more,
  );
}

const byDifference = (a, b) => Math.abs(b.b - b.a) - Math.abs(a.b - a.a) || (a.label < b.label ? -1 : 1);

// ---- one step against the median step ----

// The process that is chosen, else the one with the slowest step.
export function chosenProfile() {
  const list = panelOf('compare_steps'),
    wanted = getState('profile');
  if (wanted || !list || !list.all.length) return wanted ? Number(wanted) : null;
  const at = (name) => list.at(name),
    measured = list.all.filter((row) => !row[at('is_warmup')]);
  const slowest = (measured.length ? measured : list.all).reduce((a, b) =>
    b[at('training_ns')] > a[at('training_ns')] ? b : a,
  );
  return slowest[at('profile_id')];
}

// The step that is looked at: the first of those that are chosen, else the slowest.
export function chosenStep(profile) {
  const chosen = stateSteps(),
    list = panelOf('compare_steps');
  if (chosen) return chosen[0];
  if (!list || !list.all.length) return null;
  const at = (name) => list.at(name);
  const measured = list.all.filter(
    (row) => !row[at('is_warmup')] && (profile === null || row[at('profile_id')] === profile),
  );
  return measured.length
    ? measured.reduce((a, b) => (b[at('training_ns')] > a[at('training_ns')] ? b : a))[at('number')]
    : null;
}

export function makeAgainst(panel) {
  const at = (key) => panel.at(panel.keys[key]),
    profileAt = panel.at('profile_id');
  const chosen = chosenProfile(),
    profile = chosen === null && panel.all.length ? panel.all[0][profileAt] : chosen;
  const rows = panel.all.filter((row) => row[profileAt] === profile),
    number = chosenStep(profile);
  const numbers = [...new Set(rows.map((row) => row[at('x')]))].filter((value) => value !== null);
  if (!numbers.includes(number)) {
    return element('p.note', {}, `Nothing of step ${number} was recorded.`);
  }
  const labels = new Map();
  for (const row of rows) {
    const label = String(row[at('label')] ?? '–');
    if (!labels.has(label)) labels.set(label, new Map());
    const steps = labels.get(label);
    steps.set(row[at('x')], (steps.get(row[at('x')]) || 0) + (row[at('value')] || 0));
  }
  const list = [...labels]
    .map(([label, steps]) => ({
      label,
      a: median(numbers.map((step) => steps.get(step) || 0)),
      b: steps.get(number) || 0,
    }))
    .filter((row) => row.a || row.b)
    .sort(byDifference);
  const unit = unitOf(panel.keys.value);
  return element(
    'div',
    {},
    ...[
      differenceTable(
        list,
        unit,
        [titleOf(panel.keys.label), `median of ${numbers.length}`, `step ${number}`, 'difference', '%', ''],
        `${panel.title}: step ${number} against the median step`,
      ),
      panel.all.some((row) => row[profileAt] !== profile)
        ? element('p.note', {}, `Of ${processName(profile)}; others can be chosen above.`)
        : null,
    ].filter(Boolean),
  );
}

// ---- before and after ----

// A side is `r1`, a run, or `p3`, a process, with steps or all: r1 or r1:10-19.
function readSide(text) {
  const match = /^([rp])(\d+)(?::(-?\d+)-(-?\d+))?$/.exec(text || '');
  return (
    match && {
      kind: match[1],
      id: Number(match[2]),
      steps: match[3] === undefined ? null : [Number(match[3]), Number(match[4])],
    }
  );
}
const writeSide = (side) => `${side.kind}${side.id}${side.steps ? `:${side.steps[0]}-${side.steps[1]}` : ''}`;

function sidesOf() {
  const steps = panelOf('compare_steps'),
    runAt = steps.at('run_id'),
    at = steps.at('number'),
    warmup = steps.at('is_warmup');
  const processes = panelOf('processes'),
    runs = [...new Set(processes.all.map((row) => row[processes.at('run_id')]))];
  const ofFirst = steps.all.filter((row) => row[runAt] === runs[0]),
    measured = ofFirst.filter((row) => !row[warmup]);
  const numbers = [...new Set((measured.length > 1 ? measured : ofFirst).map((row) => row[at]))].sort((a, b) => a - b);
  const half = numbers.length >> 1;
  const first = { kind: 'r', id: runs[0], steps: runs.length > 1 || !half ? null : [numbers[0], numbers[half - 1]] };
  const second =
    runs.length > 1
      ? { kind: 'r', id: runs[runs.length - 1], steps: null }
      : { kind: 'r', id: runs[0], steps: half ? [numbers[half], numbers[numbers.length - 1]] : null };
  return [readSide(getState('before')) || first, readSide(getState('after')) || second];
}

function isOn(panel, row, side) {
  const number = row[panel.at(panel.keys.x)];
  return (
    row[panel.at(side.kind === 'r' ? 'run_id' : 'profile_id')] === side.id &&
    (!side.steps || (number !== null && number >= side.steps[0] && number <= side.steps[1]))
  );
}

function sideTitle(side) {
  const processes = panelOf('processes'),
    at = (name) => processes.at(name);
  const row = processes.all.find((each) => each[at(side.kind === 'r' ? 'run_id' : 'profile_id')] === side.id);
  const run = row ? String(row[at('run')] ?? `run ${side.id}`) : 'nothing';
  const one = side.kind === 'p' && row ? ` · ${row[at('name')]}` : '';
  return run + one + (side.steps ? `, steps ${side.steps[0]} to ${side.steps[1]}` : '');
}

// The choice of both sides, at the head of the page.
export function makeSides() {
  const sides = sidesOf(),
    processes = panelOf('processes'),
    at = (name) => processes.at(name);
  const runs = new Map(processes.all.map((row) => [row[at('run_id')], row]));
  const choice = (word, i) => {
    const side = sides[i],
      put = (next) => setState({ [word]: writeSide({ ...side, ...next }) });
    const select = element(
      'select',
      {
        'aria-label': `${word}: which run`,
        onchange: () => {
          const next = readSide(select.value);
          put({ kind: next.kind, id: next.id });
        },
      },
      ...[...runs.keys()].map((id) => element('option', { value: `r${id}` }, sideTitle({ kind: 'r', id }))),
      ...(processes.all.length > runs.size
        ? processes.all.map((row) =>
            element(
              'option',
              { value: `p${row[at('profile_id')]}` },
              sideTitle({ kind: 'p', id: row[at('profile_id')] }),
            ),
          )
        : []),
    );
    select.value = `${side.kind}${side.id}`;
    const steps = element('input', {
      type: 'text',
      size: '9',
      placeholder: 'all steps',
      'aria-label': `${word}: which steps, as 10-19`,
      value: side.steps ? `${side.steps[0]}-${side.steps[1]}` : '',
      onchange: () => {
        const match = /^\s*(-?\d+)(?:\s*-\s*(-?\d+))?\s*$/.exec(steps.value);
        put({ steps: match ? [Number(match[1]), Number(match[2] ?? match[1])] : null });
      },
    });
    return element('span', {}, element('label', {}, `${word} `, select), element('label', {}, ' steps ', steps));
  };
  const isAll = getState('per') === 'all';
  return element(
    'section.panel.sides',
    { 'aria-label': 'what is compared' },
    choice('before', 0),
    element(
      'button',
      {
        title: 'before becomes after',
        onclick: () => setState({ before: writeSide(sides[1]), after: writeSide(sides[0]) }),
      },
      '⇄ swap',
    ),
    choice('after', 1),
    element(
      'button',
      { 'aria-pressed': String(isAll), onclick: () => setState({ per: isAll ? null : 'all' }) },
      isAll ? 'in all' : 'per step',
    ),
  );
}

function compareSteps(panel, sides) {
  const value = panel.at(panel.keys.value),
    warmup = panel.at('is_warmup'),
    unit = unitOf(panel.keys.value);
  const values = sides.map((side) =>
    panel.all.filter((row) => isOn(panel, row, side) && (side.steps || !row[warmup])).map((row) => row[value]),
  );
  if (!values[0].length || !values[1].length) return element('p.empty', {}, 'A side has no steps.');
  const [a, b] = values.map(mean),
    error = meansError(...values),
    by = b - a;
  const isSure = error !== null && Math.abs(by) > error;
  const p95 = (list) => [...list].sort((x, y) => x - y)[Math.min(list.length - 1, Math.floor(list.length * 0.95))];
  const low = Math.min(...values[0], ...values[1]),
    high = Math.max(...values[0], ...values[1]);
  const facts = [
    ['mean', a, b, error],
    ['median', median(values[0]), median(values[1])],
    ['p95', p95(values[0]), p95(values[1])],
    ['longest', Math.max(...values[0]), Math.max(...values[1])],
  ].map(([label, x, y, e]) => ({ label, a: x, b: y, ...(e === undefined ? {} : { error: e }) }));
  return element(
    'div',
    {},
    element(
      'p.finding',
      {},
      !by
        ? 'Steps take the same time.'
        : `Steps take ${formatRatio(Math.abs(by) / a)} ${by > 0 ? 'longer' : 'less'}: ${formatUnit(a, unit)} before, ` +
            `${formatUnit(b, unit)} after` +
            (error === null
              ? '; one step alone says nothing about chance.'
              : isSure
                ? ` (± ${formatUnit(error, unit)} with 95 % confidence).`
                : `, but chance alone makes ± ${formatUnit(error, unit)}: no difference is shown.`),
    ),
    element(
      'div.multiples',
      {},
      ...sides.map((side, i) =>
        element(
          'figure',
          {},
          element('figcaption', {}, `${i ? 'after' : 'before'}: ${sideTitle(side)} (${values[i].length} steps)`),
          makeHistogram(values[i], unit, titleOf(panel.keys.value), { low, high }),
        ),
      ),
    ),
    differenceTable(facts, unit, ['', 'before', 'after', 'difference', '%', ''], 'steps before and after'),
  );
}

// A row for each label: its sum, or its mean by step with what chance makes of it; of memory the most.
function compareLabels(panel, sides) {
  const at = (name) => panel.at(name),
    label = at(panel.keys.label),
    value = at(panel.keys.value),
    number = at(panel.keys.x);
  const unit = unitOf(panel.keys.value),
    isPeak = /peak/.test(panel.keys.value),
    recorded = at('recorded_ns');
  const isAll = getState('per') === 'all' || isPeak,
    warmup = at('is_warmup');
  const labels = new Map(),
    counts = [];
  sides.forEach((side, i) => {
    const rows = panel.all.filter(
      (row) => isOn(panel, row, side) && (isAll || (row[number] !== null && (side.steps || !row[warmup]))),
    );
    const keyOf = (row) => `${row[at('profile_id')]} ${row[number]}`,
      steps = new Set(rows.map(keyOf));
    counts.push(steps.size);
    for (const row of rows) {
      if (!labels.has(row[label])) labels.set(row[label], [new Map(), new Map()]);
      const of = labels.get(row[label])[i],
        key = keyOf(row),
        add = (isAll || recorded < 0 ? row[value] : row[recorded]) || 0;
      of.set(key, isPeak ? Math.max(of.get(key) || 0, add) : (of.get(key) || 0) + add);
    }
  });
  const valuesOf = (map, count) => [...map.values(), ...Array.from({ length: Math.max(0, count - map.size) }, () => 0)];
  const rows = [...labels]
    .map(([name, maps]) => {
      const [a, b] = maps.map((map, i) => valuesOf(map, counts[i]));
      const sum = isPeak
        ? (list) => Math.max(0, ...list)
        : isAll
          ? (list) => list.reduce((x, y) => x + y, 0)
          : (list) => (list.length ? mean(list) : 0);
      return { label: String(name ?? '–'), a: sum(a), b: sum(b), ...(isAll ? {} : { error: meansError(a, b) }) };
    })
    .filter((row) => row.a || row.b)
    .sort(byDifference);
  if (!rows.length) return element('p.empty', {}, 'Neither side has any.');
  const how = isPeak ? 'the most' : isAll ? 'in all' : `a step, of ${counts[0]} and ${counts[1]}`;
  return element(
    'div',
    {},
    element(
      'p.note',
      {},
      `${titleOf(panel.keys.value)}, ${how}` +
        (isAll ? '' : '; ± is what chance makes with 95 % confidence, and pale what does not exceed it'),
    ),
    differenceTable(rows, unit, [titleOf(panel.keys.label), 'before', 'after', 'difference', '%', ''], panel.title),
  );
}

export function makeCompare(panel) {
  const sides = sidesOf();
  return panel.keys.label ? compareLabels(panel, sides) : compareSteps(panel, sides);
}
