// table.js: rows as a table that sorts by a click on a head and filters by a text; the first of them, then all.
import { processName, run } from './data.js';
import { element, linkTo, tell } from './state.js';
import { formatUnit, titleOf, unitOf } from './units.js';

const MOST_ROWS = 2000;
const hidden = /^(profile_id|device_id|thread_id|node_id|step_id|collective_id|op_id)$/;

function compareValues(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

// A line leads to its ops in the timeline, a moment to what happened then.
function placeInTimeline(row, i, columns) {
  const value = row[i],
    at = (name) => row[columns.indexOf(name)],
    place = { page: 'timeline', panel: null, f: null };
  if (value === null || !run.has_events) return null;
  if (columns[i] === 'location') return { ...place, q: value.toLowerCase(), t: null };
  if (columns[i] !== 'at_ns') return null;
  const ns = at('dur_ns') || at('gap_ns') || 1e5,
    id = at('op_id');
  return { ...place, t: `${Math.round(value - ns)}~${Math.round(value + 2 * ns)}`, sel: id ? `ops:${id}` : null };
}

// A column's own unit; of values that stand for this and that, the one that the row tells.
const measured = /^(value|first|last|minimum|maximum|mean)$/,
  units = ['bytes', 'ratio', 'ns'];
function unitOfCell(row, column, columns) {
  const told = measured.test(column) ? row[columns.indexOf('unit')] : undefined;
  return units.includes(told) ? told : unitOf(column);
}

function cellOf(row, i, columns) {
  const value = row[i],
    column = columns[i],
    place = placeInTimeline(row, i, columns);
  const isNumber = typeof value === 'number',
    unit = unitOfCell(row, column, columns),
    text = formatUnit(value, unit);
  const cell = element('td', { class: isNumber ? 'number' : value === null ? 'number nothing' : 'text' });
  if (value === null) cell.title = 'not recorded';
  else if (isNumber && text !== String(value)) cell.title = String(value);
  else if (!isNumber && text.length > 40) cell.title = text;
  if (isNumber && unit === 'ratio') {
    const bar = element('span.share', {});
    bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
    cell.append(bar);
  }
  cell.append(place ? linkTo(text, place) : element('span', {}, text));
  return cell;
}

// Where rows are of several processes, and no column of theirs says of which, profile_id becomes the process's name.
function withProcesses(columns, rows) {
  const [at, rank, host] = ['profile_id', 'rank', 'host'].map((name) => columns.indexOf(name));
  const isTold = (row) =>
    row[at] === null ||
    (rank >= 0 && row[rank] !== null) ||
    (host >= 0 && processName(row[at]) === `host ${row[host]}`);
  if (at < 0 || columns.includes('pid') || rows.every((row) => row[at] === rows[0][at]) || rows.every(isTold))
    return [columns, rows];
  return [
    columns.map((name, i) => (i === at ? 'process' : name)),
    rows.map((row) => row.map((value, i) => (i === at ? (value === null ? 'all' : processName(value)) : value))),
  ];
}

// The columns that say something: not ids, none without a value, no errors where all was recorded.
function shownColumns(columns, rows) {
  const shown = columns
    .map((column, i) => i)
    .filter(
      (i) =>
        !hidden.test(columns[i]) &&
        (rows.length === 0 ||
          rows.some((row) => row[i] !== null && !(row[i] === 0 && /(^|_)error(_|$)/.test(columns[i])))),
    );
  return shown.length ? shown : columns.map((column, i) => i);
}

// `filter`: the text to filter by at first; `first`: how many rows are shown at first.
export function makeTable(allColumns, allRows, caption, { filter: wanted = null, first = 50 } = {}) {
  const [columns, rows] = withProcesses(allColumns, allRows);
  const shown = shownColumns(columns, rows);
  let sortBy = -1,
    isDescending = true,
    most = first,
    pattern = (wanted || '').toLowerCase();
  const body = element('tbody'),
    heads = [];
  const more = element('button.more', {
    onclick: () => {
      most = MOST_ROWS;
      fill();
    },
  });
  const fill = () => {
    let list = rows;
    if (pattern) {
      list = list.filter((row) => shown.some((i) => row[i] !== null && String(row[i]).toLowerCase().includes(pattern)));
    }
    if (sortBy >= 0) {
      list = [...list].sort((a, b) => {
        if (a[sortBy] === null || b[sortBy] === null) return compareValues(a[sortBy], b[sortBy]);
        return isDescending ? compareValues(b[sortBy], a[sortBy]) : compareValues(a[sortBy], b[sortBy]);
      });
    }
    body.replaceChildren(
      ...list.slice(0, most).map((row) => element('tr', {}, ...shown.map((i) => cellOf(row, i, columns)))),
    );
    const left = list.length - Math.min(list.length, most);
    more.hidden = left === 0;
    more.textContent =
      most === first
        ? `${left.toLocaleString('en')} more rows`
        : `${left.toLocaleString('en')} more are in CSV and JSON`;
    more.disabled = most !== first;
    heads.forEach((head, k) =>
      head.setAttribute('aria-sort', shown[k] !== sortBy ? 'none' : isDescending ? 'descending' : 'ascending'),
    );
  };
  for (const i of shown) {
    const isNumber = rows.some((row) => typeof row[i] === 'number');
    heads.push(
      element(
        'th',
        { scope: 'col', class: isNumber ? 'number' : 'text' },
        element(
          'button',
          {
            title: columns[i],
            onclick: () => {
              isDescending = sortBy === i ? !isDescending : isNumber;
              sortBy = i;
              fill();
              tell(`sorted by ${titleOf(columns[i])}`);
            },
          },
          titleOf(columns[i]),
        ),
      ),
    );
  }
  const filter =
    rows.length > 12 || wanted
      ? element('input', {
          type: 'search',
          placeholder: 'filter',
          value: wanted,
          'aria-label': `filter ${caption}`,
          oninput: (event) => {
            pattern = event.target.value.toLowerCase();
            fill();
          },
        })
      : null;
  fill();
  return element(
    'div.table',
    {},
    filter,
    element(
      'div.scroll',
      { tabindex: '0', role: 'region', 'aria-label': caption },
      element(
        'table',
        {},
        element('caption.unseen', {}, caption),
        element('thead', {}, element('tr', {}, ...heads)),
        body,
      ),
    ),
    more,
  );
}

// What a line of facts says of many rows: the least, the middle and the most of its numbers; of texts how many say
// what.
function extremes(rows, i, columns, labelOf) {
  const known = rows.filter((row) => row[i] !== null);
  if (!known.some((row) => typeof row[i] === 'number')) {
    const counts = new Map();
    for (const row of known) counts.set(row[i], (counts.get(row[i]) || 0) + 1);
    const words = [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 4)
      .map(([text, count]) => (counts.size > 1 ? `${count} × ${text}` : text));
    return [element('td.text', { colspan: '3' }, words.join(', ') + (counts.size > 4 ? ' …' : '') || '–')];
  }
  const sorted = [...known].sort((a, b) => compareValues(a[i], b[i])),
    last = sorted.length - 1;
  if (sorted[0][i] === sorted[last][i]) {
    const cell = cellOf(sorted[0], i, columns);
    cell.setAttribute('colspan', '3');
    return [cell];
  }
  return [0, last >> 1, last].map((place) => {
    const cell = cellOf(sorted[place], i, columns);
    cell.title = `${labelOf(sorted[place])}: ${cell.title || cell.textContent}`;
    return cell;
  });
}

// Few rows of many columns: a name a line, a column for each row.  More than five rows: what all say together, where
// there is such a row, and the extremes of the others.
export function makeFacts(columns, rows, labelOf) {
  const shown = shownColumns(columns, rows);
  if (rows.length === 1) {
    return element(
      'dl.grid',
      {},
      ...shown
        .filter((i) => rows[0][i] !== null)
        .map((i) => {
          const cell = cellOf(rows[0], i, columns);
          return element(
            'div',
            {},
            element('dt', { title: columns[i] }, titleOf(columns[i])),
            element('dd', { class: cell.className, title: cell.title || null }, ...cell.childNodes),
          );
        }),
    );
  }
  const profile = columns.indexOf('profile_id'),
    isMany = rows.length > 5;
  const single = isMany ? rows.filter((row) => profile >= 0 && row[profile] === null) : rows,
    each = isMany ? rows.filter((row) => !single.includes(row)) : [];
  const heads = [...single.map(labelOf), ...(isMany ? ['least', 'median', 'most'] : [])];
  const isInHeads = (i) => !isMany && single.every((row) => String(row[i]) === labelOf(row));
  const lines = shown
    .filter((i) => columns[i] !== 'rank' && !isInHeads(i))
    .map((i) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row', class: 'text', title: columns[i] }, titleOf(columns[i])),
        ...single.map((row) => cellOf(row, i, columns)),
        ...(isMany ? extremes(each, i, columns, labelOf) : []),
      ),
    );
  return element(
    'div.scroll',
    { tabindex: '0' },
    isMany
      ? element('p.note', {}, `Of ${each.length}, each number by itself; ` + 'the table below has them one by one.')
      : null,
    element(
      'table.facts',
      {},
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('td'),
          ...heads.map((head) => element('th', { scope: 'col', class: 'number' }, head)),
        ),
      ),
      element('tbody', {}, ...lines),
    ),
  );
}
