// table.js: rows as a table that sorts by a click on a head and filters by a text; the first fifty, then all.
import { run } from './data.js';
import { element, linkTo, tell } from './state.js';
import { formatCell, titleOf, unitOf } from './units.js';

const FIRST_ROWS = 50, MOST_ROWS = 2000;
const hidden = /^(profile_id|device_id|thread_id|node_id|step_id|collective_id|op_id)$/;

function compareValues(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

// A line leads to its ops in the timeline, a moment to what happened then.
function placeInTimeline(row, i, columns) {
  const value = row[i], at = (name) => row[columns.indexOf(name)], place = { page: 'timeline', panel: null, f: null };
  if (value === null || !run.has_events) return null;
  if (columns[i] === 'location') return { ...place, q: value.toLowerCase(), t: null };
  if (columns[i] !== 'at_ns') return null;
  const ns = at('dur_ns') || 1e5, id = at('op_id');
  return { ...place, t: `${Math.round(value - ns)}~${Math.round(value + 2 * ns)}`, sel: id ? `ops:${id}` : null };
}

function cellOf(row, i, columns) {
  const value = row[i], column = columns[i], place = placeInTimeline(row, i, columns);
  const isNumber = typeof value === 'number', text = formatCell(value, column);
  const cell = element('td', { class: isNumber ? 'number' : value === null ? 'number nothing' : 'text' });
  if (value === null) cell.title = 'not recorded';
  else if (isNumber && text !== String(value)) cell.title = String(value);
  else if (!isNumber && text.length > 40) cell.title = text;
  if (isNumber && unitOf(column) === 'ratio') {
    const bar = element('span.share', {});
    bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
    cell.append(bar);
  }
  cell.append(place ? linkTo(text, place) : element('span', {}, text));
  return cell;
}

// The columns that say something: not ids, none without a value, no errors where all was recorded.
function shownColumns(columns, rows) {
  const shown = columns.map((column, i) => i).filter((i) => !hidden.test(columns[i]) &&
    (rows.length === 0 || rows.some((row) => row[i] !== null && !(row[i] === 0 && /_error(_|$)/.test(columns[i])))));
  return shown.length ? shown : columns.map((column, i) => i);
}

// `filter`: the text to filter by at first.
export function makeTable(columns, rows, caption, { filter: wanted = null } = {}) {
  const shown = shownColumns(columns, rows);
  let sortBy = -1, isDescending = true, most = FIRST_ROWS, pattern = (wanted || '').toLowerCase();
  const body = element('tbody'), heads = [];
  const more = element('button.more', { onclick: () => { most = MOST_ROWS; fill(); } });
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
    body.replaceChildren(...list.slice(0, most).map((row) =>
      element('tr', {}, ...shown.map((i) => cellOf(row, i, columns)))));
    const left = list.length - Math.min(list.length, most);
    more.hidden = left === 0;
    more.textContent = most === FIRST_ROWS ? `${left.toLocaleString('en')} more rows`
                                           : `${left.toLocaleString('en')} more are in CSV and JSON`;
    more.disabled = most !== FIRST_ROWS;
    heads.forEach((head, k) => head.setAttribute('aria-sort',
      shown[k] !== sortBy ? 'none' : isDescending ? 'descending' : 'ascending'));
  };
  for (const i of shown) {
    const isNumber = rows.some((row) => typeof row[i] === 'number');
    heads.push(element('th', { scope: 'col', class: isNumber ? 'number' : 'text' },
      element('button', { title: columns[i], onclick: () => {
        isDescending = sortBy === i ? !isDescending : isNumber;
        sortBy = i;
        fill();
        tell(`sorted by ${titleOf(columns[i])}`);
      } }, titleOf(columns[i]))));
  }
  const filter = rows.length > 12 || wanted ? element('input', { type: 'search', placeholder: 'filter', value: wanted, 'aria-label':
    `filter ${caption}`, oninput: (event) => { pattern = event.target.value.toLowerCase(); fill(); } }) : null;
  fill();
  return element('div.table', {}, filter, element('div.scroll', { tabindex: '0', role: 'region',
    'aria-label': caption }, element('table', {}, element('caption.unseen', {}, caption),
    element('thead', {}, element('tr', {}, ...heads)), body)), more);
}

// Few rows of many columns: a name a line, a column for each row.
export function makeFacts(columns, rows, labelOf) {
  const shown = shownColumns(columns, rows);
  const many = rows.slice(0, 8);
  if (rows.length === 1) {
    return element('dl.grid', {}, ...shown.filter((i) => rows[0][i] !== null).map((i) => {
      const cell = cellOf(rows[0], i, columns);
      return element('div', {}, element('dt', { title: columns[i] }, titleOf(columns[i])),
        element('dd', { class: cell.className, title: cell.title || null }, ...cell.childNodes));
    }));
  }
  const head = many.length > 1 ? element('thead', {}, element('tr', {}, element('td'),
    ...many.map((row) => element('th', { scope: 'col', class: 'number' }, labelOf(row))))) : null;
  const lines = shown.filter((i) => columns[i] !== 'rank' || many.length === 1).map((i) => element('tr', {},
    element('th', { scope: 'row', class: 'text', title: columns[i] }, titleOf(columns[i])),
    ...many.map((row) => cellOf(row, i, columns))));
  const table = element('table.facts', {}, head, element('tbody', {}, ...lines));
  const left = rows.length - many.length;
  return element('div.scroll', { tabindex: '0' }, table,
    left > 0 ? element('p.note', {}, `and ${left} more, in the table below`) : null);
}
