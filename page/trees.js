// trees.js: the modules of a model as an icicle, the pipeline of the input as a tree, and the durations of one op.
import { heatColour, makeHistogramOf } from './charts.js';
import { makeFlame } from './flame.js';
import { element, getState, makeFigure, setState } from './state.js';
import { formatRatio, formatUnit, titleOf, unitOf } from './units.js';

// ---- the model ----

// Names such as layer1.0.conv1, or a/b/c, as a tree; a node is as large as it says, or as those in it are together.
function buildModules(rows, label, value) {
  const root = { label: 'all', location: null, self: 0, total: 0, children: new Map(), depth: 0 };
  for (const row of rows) {
    const parts = String(row[label] ?? '–').split(/[./]/);
    let node = root;
    for (const part of parts) {
      if (!node.children.has(part)) {
        node.children.set(part, {
          label: part,
          location: null,
          self: 0,
          total: 0,
          children: new Map(),
          parent: node,
          depth: node.depth + 1,
        });
      }
      node = node.children.get(part);
    }
    node.own = (node.own || 0) + (row[value] || 0);
    node.location = String(row[label]);
    node.row = row;
  }
  const settle = (node, depth) => {
    let inside = 0;
    if (depth < 200) for (const child of node.children.values()) inside += settle(child, depth + 1);
    node.total = Math.max(node.own || 0, inside);
    node.self = node.total - inside;
    for (const [key, child] of node.children) if (!child.total) node.children.delete(key);
    return node.total;
  };
  settle(root, 0);
  return root;
}

export function makeIcicle(panel, rows) {
  const columns = panel.keys.y.split(' ').filter((column) => rows.some((row) => row[panel.at(column)] > 0));
  if (!columns.length) return element('p.empty', {}, 'Nothing of modules is known.');
  const size = columns.includes(getState('size')) ? getState('size') : columns[0];
  const colour = columns.includes(getState('colour')) ? getState('colour') : null;
  const choice = (word, chosen, key, extra) => {
    const select = element(
      'select',
      { onchange: () => setState({ [key]: select.value || null }) },
      ...extra,
      ...columns.map((column) => element('option', { value: column }, titleOf(column))),
    );
    select.value = chosen || '';
    return element('label', {}, `${word} `, select);
  };
  const root = buildModules(rows, panel.at(panel.keys.label), panel.at(size));
  let fillOf = null;
  if (colour) {
    const at = panel.at(colour),
      most = Math.max(...rows.map((row) => row[at] || 0), 1);
    fillOf = (node) => heatColour(node.row ? (node.row[at] || 0) / most : 0);
  }
  return element(
    'div',
    {},
    element(
      'div.tools',
      {},
      choice('size by', size, 'size', []),
      choice('colour by', colour, 'colour', [element('option', { value: '' }, 'name')]),
    ),
    makeFlame(root, unitOf(size), fillOf),
  );
}

// ---- the input ----

export function makeTree(panel, rows) {
  const at = (name) => panel.at(name),
    unit = unitOf(panel.keys.value);
  const label = at(panel.keys.label),
    value = at(panel.keys.value),
    mark = at(panel.keys.mark);
  const most = Math.max(...rows.map((row) => row[value] || 0), 1),
    groups = new Map();
  for (const row of rows) {
    const key = `${row[at('profile_id')]} ${row[at('pipeline')]}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const branch = (list, row, seen) => {
    const bar = element('span.bar', {}),
      id = row[at('id')];
    bar.style.width = `${(100 * (row[value] || 0)) / most}%`;
    const below = seen.has(id) ? [] : list.filter((each) => each[at('parent_id')] === id && each !== row);
    const slow = row[mark] > 0;
    return element(
      'li',
      { class: slow ? 'bottleneck' : '' },
      element('span.label', {}, String(row[label])),
      element(
        'span.number',
        {},
        `${formatUnit(row[value], unit)} by itself, ${formatUnit(row[at('sum_ns')], unit)} in all`,
      ),
      slow ? element('strong', {}, `◀ bottleneck of ${row[mark]} of ${row[at('call_count')]} calls`) : null,
      row[at('is_async')] ? element('small', {}, 'works ahead') : null,
      element('span.ground', {}, bar),
      below.length ? element('ul', {}, ...below.map((each) => branch(list, each, new Set([...seen, id])))) : null,
    );
  };
  return element(
    'div.tree',
    {},
    ...[...groups.values()].map((list) => {
      const ids = new Set(list.map((row) => row[at('id')]));
      const roots = list.filter((row) => row[at('parent_id')] === null || !ids.has(row[at('parent_id')]));
      return makeFigure(
        String(list[0][at('pipeline')] ?? 'pipeline'),
        element('ul', {}, ...(roots.length ? roots : list).map((row) => branch(list, row, new Set()))),
      );
    }),
  );
}

// ---- durations of one op ----

export function makeDistribution(panel, rows) {
  const at = (name) => panel.at(name),
    label = at(panel.keys.label),
    sums = new Map();
  for (const row of rows) sums.set(row[label], (sums.get(row[label]) || 0) + row[at('sum_ns')]);
  const names = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  const chosen = sums.has(getState('op')) ? getState('op') : names[0];
  const select = element(
    'select',
    { onchange: () => setState({ op: select.value }) },
    ...names.map((name) => element('option', { value: name }, String(name))),
  );
  select.value = chosen;
  const places = new Map();
  for (const row of rows) {
    if (row[label] !== chosen) continue;
    const place = row[at(panel.keys.series)];
    if (!places.has(place)) places.set(place, []);
    places.get(place).push(row);
  }
  return element(
    'div',
    {},
    element('label', {}, 'op ', select),
    element(
      'div.multiples',
      {},
      ...[...places].map(([place, list]) => {
        const count = list.reduce((sum, row) => sum + row[at('count')], 0),
          ns = list.reduce((sum, row) => sum + row[at('sum_ns')], 0);
        const tail = list[list.length - 1];
        return makeFigure(
          `${place}: ${count.toLocaleString('en')} calls, ` +
            `${formatUnit(ns / count, 'ns')} on average; ${formatRatio(tail[at('count')] / count)} take ` +
            `${formatUnit(tail[at('from_ns')], 'ns')} and longer`,
          makeHistogramOf(
            list.map((row) => row[at('from_ns')]),
            list.map((row) => row[at('to_ns')]),
            list.map((row) => row[at('count')]),
            'ns',
            place,
          ),
        );
      }),
    ),
  );
}
