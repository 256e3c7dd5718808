// panels.js: a panel as a section: its title, a sentence, what its chart is, the rows as a table, its SQL, CSV and
// JSON.
import { makeAgainst, makeCompare } from './compare.js';
import { makeBars, makeHeat, makeHistogram, makeLines, makeStack, makeStackedBars } from './charts.js';
import { csvOf, download, isByTime, jsonOf, panelOf, processName, rowsInSteps } from './data.js';
import { buildTree, makeFlame } from './flame.js';
import { makeAddresses, makeBlocks } from './memory.js';
import { makeFacts, makeTable } from './table.js';
import { makeViews } from './sql_page.js';
import { makeDistribution, makeIcicle, makeTree } from './trees.js';
import { element, getState, linkTo, makeFigure, setState, stateSteps } from './state.js';
import { formatNs, titleOf, unitOf } from './units.js';

const severities = { critical: '■', warning: '▲', info: '○' };
const MOST_MULTIPLES = 40,
  MOST_FIGURES = 8;
const bySteps = new Set(['against', 'compare', 'findings', 'blocks', 'addresses']); // what sees to the steps itself

const names = (text) => (text || '').split(' ').filter(Boolean);

// Rows by the value of a column, in the order in which they come; all together where there is no such column.
function groupBy(rows, at) {
  const groups = new Map();
  for (const row of rows) {
    const key = at < 0 ? '' : row[at];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

function profileLabel(panel, row) {
  const profile = panel.at('profile_id');
  return profile >= 0 && row[profile] !== null ? processName(row[profile]) : '';
}

function isOfOne(panel, rows) {
  const profile = panel.at('profile_id');
  return profile < 0 || rows.every((row) => row[profile] === rows[0][profile]);
}

// One chart for each profile; of more than four the one with least of it, the one in the middle, and the one with most.
function byProfile(panel, rows, make, columns) {
  const groups = [...groupBy(rows, panel.at('profile_id')).values()];
  if (groups.length <= 4) {
    return element(
      'div.multiples.wide',
      {},
      ...groups.map((group) =>
        groups.length === 1 ? make(group) : makeFigure(profileLabel(panel, group[0]), make(group)),
      ),
    );
  }
  const places = columns.map((column) => panel.at(column));
  const sums = groups.map(
    (group) => group.reduce((sum, row) => places.reduce((all, at) => all + (row[at] || 0), sum), 0) / group.length,
  );
  const order = groups.map((group, i) => i).sort((a, b) => sums[a] - sums[b]);
  const shown = [
    [order.length - 1, 'most'],
    [order.length >> 1, 'median'],
    [0, 'least'],
  ];
  return element(
    'div.multiples.wide',
    {},
    ...shown.map(([place, word]) =>
      makeFigure(
        `${profileLabel(panel, groups[order[place]][0])}: ${word} of ${groups.length}`,
        make(groups[order[place]]),
      ),
    ),
    element('p.note', {}, 'Choose another one above; the rows of all are in the table.'),
  );
}

// A finding leads to the panel with its rows, of its process, and to the moment that shows it best.
function findingLinks(panel, row) {
  const at = (name) => row[panel.at(name)],
    profile = at('profile_id') === null ? getState('profile') : String(at('profile_id'));
  const target = at('panel') && panelOf(at('panel')),
    moment = at('at_ns'),
    length = at('dur_ns') || 1e5;
  const filter =
    at('check_name') === 'slowest_source_line' || at('check_name') === 'memory_kept' ? String(at('subject')) : null;
  return element(
    'p.places',
    {},
    at('page')
      ? linkTo(target ? `→ ${titleOf(at('page'))}: ${target.title}` : `→ ${at('page')}`, {
          page: at('page'),
          panel: at('panel'),
          profile,
          f: filter,
          at: moment === null ? null : String(moment),
          t: null,
        })
      : null,
    moment === null
      ? null
      : linkTo(`→ timeline at ${formatNs(moment)}`, {
          page: 'timeline',
          panel: null,
          profile,
          q: null,
          t: `${Math.round(moment - length)}~${Math.round(moment + 2 * length)}`,
        }),
  );
}

// What several processes share is told once, by what one of them says: the one that could save most.  A process may
// have several findings of one check: its first is of a kind with the first of the others.  What only informs is told
// once by each check.
function shareFindings(panel, rows) {
  const at = (name) => panel.at(name),
    groups = new Map(),
    counts = new Map();
  for (const row of rows) {
    const check = row[at('check_name')],
      subject = row[at('subject')],
      own = `${check}\n${subject}`;
    const isProcess = row[at('profile_id')] !== null || /^(rank|process) \d+\b/.test(subject);
    counts.set(own, (counts.get(own) || 0) + 1);
    const key = row[at('severity')] === 'info' ? `${check}\n#1` : isProcess ? `${check}\n#${counts.get(own)}` : own;
    if (!groups.has(key)) groups.set(key, { isProcess, list: [] });
    groups.get(key).list.push(row);
  }
  return [...groups.values()].map(({ isProcess, list }) => {
    const first = list
      .filter((row) => row[at('severity')] === list[0][at('severity')])
      .reduce((a, b) => ((b[at('saves_ns')] || 0) > (a[at('saves_ns')] || 0) ? b : a));
    return { isProcess, first, others: list.filter((row) => row !== first) };
  });
}

function findings(panel, rows) {
  const at = (name) => panel.at(name),
    processes = panelOf('processes');
  const evidence = (row) =>
    row[at('evidence')]
      ? element(
          'details',
          {},
          element('summary', {}, 'the rows behind it'),
          element('pre.sql', { tabindex: '0' }, `${row[at('evidence')]};`),
        )
      : null;
  const subject = (row) => (row[at('subject')] === null ? '' : String(row[at('subject')]));
  const among = (isProcess, first, others) => {
    const subjects = new Set([first, ...others].map(subject)).size,
      times = others.length + 1;
    // Those of a server may come later.
    const all = processes && processes.all.length ? ` of ${processes.all.length}` : '';
    return [
      isProcess && subjects > 1 ? `${subjects}${all} processes, as ${subject(first)}` : subject(first),
      times > subjects || (times > 1 && !isProcess) ? `${times} times` : '',
    ]
      .filter(Boolean)
      .join(', ');
  };
  return element(
    'ul.findings',
    {},
    ...shareFindings(panel, rows).map(({ isProcess, first, others }) =>
      element(
        'li',
        { class: first[at('severity')] },
        element(
          'h3',
          {},
          element(
            'span.severity',
            { role: 'img', 'aria-label': first[at('severity')], title: first[at('severity')] },
            severities[first[at('severity')]] || '○',
          ),
          ` ${titleOf(first[at('check_name')])} `,
          element('small', {}, among(isProcess, first, others)),
          first[at('saves_ns')] > 0
            ? element('small.saves', {}, `· could save ${formatNs(first[at('saves_ns')])}`)
            : null,
        ),
        element('p', {}, String(first[at('message')] ?? '')),
        first[at('suggestion')] ? element('p.suggestion', {}, String(first[at('suggestion')])) : null,
        findingLinks(panel, first),
        evidence(first),
        others.length
          ? element(
              'details',
              {},
              element('summary', {}, `the others (${others.length})`),
              element(
                'ul',
                {},
                ...others.map((row) =>
                  element(
                    'li',
                    {},
                    element('p', {}, `${subject(row)}: ${row[at('message')] ?? ''}`),
                    findingLinks(panel, row),
                  ),
                ),
              ),
            )
          : null,
      ),
    ),
  );
}

// A figure for each group, of the first; how many are left out is told.
function figures(groups, draw) {
  const left = groups.length - MOST_FIGURES;
  return element(
    'div.multiples.wide',
    {},
    ...groups.slice(0, MOST_FIGURES).map(([name, list]) => makeFigure(String(name), draw(list, String(name)))),
    left > 0 ? element('p.note', {}, `${left} more: choose a process above, or see the table.`) : null,
  );
}

function over(panel, rows, kind) {
  const x = panel.at(panel.keys.x),
    columns = names(panel.keys.y),
    group = panel.at(panel.keys.group);
  const rightAt = panel.at(panel.keys.right);
  const draw = (list, caption) => {
    const xs = list.map((row) => row[x]);
    const shown = columns.filter((column) => list.some((row) => row[panel.at(column)] !== null));
    const values = shown.map((column) => list.map((row) => row[panel.at(column)] ?? (kind === 'stack' ? 0 : null)));
    const isBrush = Boolean(panel.keys.step),
      unit = unitOf(columns[0]),
      xUnit = unitOf(panel.keys.x);
    const right =
      rightAt >= 0 && list.some((row) => row[rightAt] !== null)
        ? { name: panel.keys.right, values: list.map((row) => row[rightAt]) }
        : null;
    const warmups = list.filter((row) => row[panel.at('is_warmup')] === 1).map((row) => row[x]);
    const warmup = xUnit === 'id' && warmups.length ? [Math.min(...warmups), Math.max(...warmups)] : null;
    const options = { isBrush, warmup, title: `${panel.title}${caption ? `, ${caption}` : ''}`, right };
    return kind === 'stack'
      ? makeStack(xs, shown, values, xUnit, unit, options)
      : makeLines(xs, shown, values, xUnit, unit, options);
  };
  if (group < 0) return byProfile(panel, rows, (list) => draw(list, ''), columns);
  return figures([...groupBy(rows, group)], draw);
}

// Rows of (time, category, value) as columns by category, each holding its last value.
function area(panel, rows) {
  const x = panel.at(panel.keys.x),
    y = panel.at(panel.keys.y),
    by = panel.at(panel.keys.series);
  const all = [...new Set(rows.map((row) => String(row[by])))].sort(),
    places = new Map(all.map((kind, i) => [kind, i]));
  return figures([...groupBy(rows, panel.at(panel.keys.group))], (group, name) => {
    const sorted = [...group].sort((a, b) => a[x] - b[x]),
      xs = [...new Set(sorted.map((row) => row[x]))];
    const columns = all.map(() => []),
      last = all.map(() => 0);
    let at = 0;
    for (const time of xs) {
      for (; at < sorted.length && sorted[at][x] === time; at++)
        last[places.get(String(sorted[at][by]))] = sorted[at][y];
      all.forEach((kind, i) => columns[i].push(Math.max(0, last[i])));
    }
    return makeStack(xs, all, columns, 'ns', unitOf(panel.keys.y), {
      isStepped: false,
      title: `${panel.title}, ${name}`,
    });
  });
}

// A chart for each series, over the same time; a line for each process and device of it.
function multiples(panel, rows) {
  const at = (key) => panel.at(panel.keys[key]),
    profile = panel.at('profile_id'),
    device = panel.at('device');
  const times = rows.map((row) => row[at('x')]),
    range = [0, 1].map((end) => times.reduce((a, b) => (b < a === !end ? b : a), times[0]));
  const groups = [...groupBy(rows, at('series')).entries()];
  const lineOf = (row) =>
    [
      rows.every((each) => each[profile] === row[profile]) ? '' : profileLabel(panel, row),
      device >= 0 ? row[device] : '',
    ]
      .filter(Boolean)
      .join(' ');
  const charts = groups.slice(0, MOST_MULTIPLES).map(([name, group]) => {
    const unit = group[0][at('unit')] === 'bytes' ? 'bytes' : group[0][at('unit')] === 'ratio' ? 'ratio' : 'plain';
    const lines = new Map();
    for (const row of group) {
      const line = lineOf(row);
      if (!lines.has(line)) lines.set(line, new Map());
      lines.get(line).set(row[at('x')], row[at('y')]);
    }
    const shown = [...lines].slice(0, MOST_FIGURES),
      xs = [...new Set(shown.flatMap(([, line]) => [...line.keys()]))].sort((a, b) => a - b);
    const more = lines.size > shown.length ? `; ${lines.size - shown.length} more lines: choose a process above` : '';
    return makeFigure(
      `${name}${group[0][at('unit')] ? ` (${group[0][at('unit')]})` : ''}${more}`,
      makeLines(
        xs,
        shown.map(([line]) => line || String(name)),
        shown.map(([, line]) => xs.map((x) => line.get(x) ?? null)),
        'ns',
        unit,
        { height: 140, title: String(name), range },
      ),
    );
  });
  const left = groups.length - charts.length;
  return element(
    'div.multiples',
    {},
    ...charts,
    left > 0 ? element('p.note', {}, `${left} more counters are in the table`) : null,
  );
}

// Of several processes each bar says which one it is of.
function labelOfBar(panel, rows) {
  const label = panel.at(panel.keys.label),
    isOne = isOfOne(panel, rows);
  return (row) => `${isOne ? '' : `${profileLabel(panel, row)} · `}${row[label] ?? '–'}`;
}

// By rank, else by process.
function heat(panel, rows) {
  const [x, y, value] = ['x', 'y', 'value'].map((key) => panel.at(panel.keys[key])),
    isNamed = rows.some((row) => row[y] === null);
  return makeHeat(
    rows,
    x,
    isNamed ? panel.at('profile_id') : y,
    value,
    unitOf(panel.keys.value),
    'step',
    isNamed ? '' : titleOf(panel.keys.y),
    (row) => setState({ page: 'timeline', panel: null, profile: null, t: null, steps: `${row[x]}-${row[x]}` }),
    isNamed ? processName : String,
  );
}

function chartOf(panel, rows) {
  const at = (key) => panel.at(panel.keys[key]);
  switch (panel.keys.chart) {
    case 'findings':
      return findings(panel, rows);
    case 'facts':
      return makeFacts(panel.columns, rows, (row) =>
        isOfOne(panel, rows) && panel.at('device') >= 0
          ? String(row[panel.at('device')])
          : profileLabel(panel, row) || String(row[panel.at('host')] ?? 'all'),
      );
    case 'bars':
      return makeBars(
        rows,
        labelOfBar(panel, rows),
        at('value'),
        unitOf(panel.keys.value),
        panel.keys.note ? at('note') : -1,
      );
    case 'hstack':
      return makeStackedBars(
        rows,
        (row) =>
          [panel.keys.label === 'rank' ? '' : row[at('label')], profileLabel(panel, row)].filter(Boolean).join(' · '),
        names(panel.keys.y),
        names(panel.keys.y).map((column) => panel.at(column)),
      );
    case 'stack':
    case 'line':
      return over(panel, rows, panel.keys.chart);
    case 'area':
      return area(panel, rows);
    case 'histogram':
      return makeHistogram(
        rows.map((row) => row[at('value')]).filter((value) => value !== null),
        unitOf(panel.keys.value),
        titleOf(panel.keys.value),
      );
    case 'heat':
      return heat(panel, rows);
    case 'against':
      return makeAgainst(panel);
    case 'compare':
      return makeCompare(panel);
    case 'blocks':
      return makeBlocks(panel, rows);
    case 'addresses':
      return makeAddresses(panel, rows);
    case 'icicle':
      return makeIcicle(panel, rows);
    case 'tree':
      return makeTree(panel, rows);
    case 'views':
      return makeViews(panel, rows);
    case 'distribution':
      return makeDistribution(panel, rows);
    case 'flame':
      return makeFlame(
        buildTree(rows, {
          id: panel.at('id'),
          parent: panel.at('parent_id'),
          label: at('label'),
          location: panel.at('location'),
          value: at('value'),
        }),
        unitOf(panel.keys.value),
      );
    case 'multiples':
      return multiples(panel, rows);
    default:
      return null;
  }
}

export function makePanel(panel) {
  const rows = rowsInSteps(panel),
    steps = stateSteps();
  const section = element('section', {
    class: `panel ${panel.keys.width || ''}`,
    id: `p-${panel.name}`,
    'aria-label': panel.title,
  });
  const tools = element(
    'div.tools',
    {},
    element(
      'button',
      {
        title: 'the rows as CSV',
        onclick: () => download(`${panel.name}.csv`, 'text/csv', csvOf(panel.columns, rows)),
      },
      'CSV',
    ),
    element(
      'button',
      {
        title: 'the rows as JSON',
        onclick: () => download(`${panel.name}.json`, 'application/json', jsonOf(panel.columns, rows)),
      },
      'JSON',
    ),
    element(
      'button',
      { title: 'the SELECT behind it', onclick: () => setState({ page: 'sql', panel: panel.name, sql: null }) },
      'SQL',
    ),
  );
  section.append(element('div.panel-head', {}, element('h2', {}, panel.title), rows.length ? tools : null));
  if (panel.isWaiting) {
    section.append(element('p.empty', {}, 'asking …'));
    return section;
  }
  if (panel.error) {
    section.append(element('p.empty', {}, `This could not be answered: ${panel.error}`));
    return section;
  }
  if (!rows.length) {
    section.classList.add('bare');
    section.append(
      element(
        'p.empty',
        {},
        panel.all.length ? 'Nothing of it in what is chosen above.' : panel.keys.empty || 'There is nothing.',
      ),
    );
    return section;
  }
  section.append(element('p.sentence', {}, panel.sentence));
  if (steps && !panel.keys.step && panel.at('profile_id') >= 0 && !bySteps.has(panel.keys.chart) && !isByTime(panel))
    section.append(element('p.note', {}, 'Of all steps: this is not by step.'));
  if (panel.all.length >= panel.limit && panel.keys.chart !== 'bars')
    section.append(element('p.note', {}, `The first ${panel.limit.toLocaleString('en')} rows.`));
  const chart = chartOf(panel, rows);
  if (chart) section.append(chart);
  const table = () =>
    makeTable(panel.columns, rows, panel.title, {
      first: panel.page === 'overview' ? 12 : 50,
      filter: getState('panel') === panel.name ? getState('f') : null,
    });
  if (!chart) section.append(table());
  else if (!['findings', 'views'].includes(panel.keys.chart)) {
    const details = element(
      'details.rows',
      {},
      element('summary', {}, `as a table (${rows.length.toLocaleString('en')})`),
    );
    details.addEventListener(
      'toggle',
      () => {
        if (details.open && !details.lastChild.rows) details.append(table());
      },
      { once: true },
    );
    section.append(details);
  }
  return section;
}
