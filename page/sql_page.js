// sql_page.js: the page on which one asks: the box (sql_box.js), the SELECT of every panel, which opens in it, and the
// manuals of all views.
import { allPanels } from './data.js';
import { makeSqlBox } from './sql_box.js';
import { element, getState, setState } from './state.js';

// Names with their manuals, by a filter.
export function makeViews(panel, rows) {
  const list = element('div.views', {});
  const fill = (text) =>
    list.replaceChildren(
      ...rows
        .filter((row) => row.some((cell) => String(cell).toLowerCase().includes(text)))
        .map(([name, kind, title, manual]) =>
          element(
            'details',
            {},
            element('summary', {}, element('code', {}, name), ` ${title}${kind === 'view' ? '' : ` (${kind})`}`),
            element('pre.sql', { tabindex: '0' }, manual),
          ),
        ),
    );
  fill('');
  return element(
    'div',
    {},
    element('input', {
      type: 'search',
      placeholder: 'filter',
      'aria-label': 'filter views',
      oninput: (event) => fill(event.target.value.toLowerCase()),
    }),
    list,
  );
}

// The SELECT of a panel, to be opened above or run by hand.
function makeSql(panel) {
  return element(
    'details',
    { id: `sql-${panel.name}`, open: getState('panel') === panel.name },
    element('summary', {}, `${panel.page}: ${panel.title} (${panel.all.length.toLocaleString('en')} rows)`),
    element(
      'div.tools',
      {},
      element(
        'button',
        {
          onclick: () => {
            setState({ sql: panel.sql, panel: panel.name });
            scrollTo(0, 0);
          },
        },
        'open in the box',
      ),
      element('span.note', {}, `sql/panels/${panel.name}.sql`),
    ),
    element('pre.sql', { tabindex: '0' }, panel.sql),
  );
}

export function makeSqlPage(panels) {
  const list = allPanels().sort((a, b) => (a.page < b.page ? -1 : a.page > b.page ? 1 : a.place - b.place));
  return [
    makeSqlBox(),
    element('section.panel', {}, element('h2', {}, 'The questions behind every panel'), ...list.map(makeSql)),
    ...panels,
  ];
}
