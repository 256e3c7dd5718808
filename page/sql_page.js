// sql_page.js: the page on which one asks: a box with completion, examples, the manuals of all views, and the SELECT of
// every panel, which opens in the box.  A served page answers there (sql_box.js); of a file the box gives
// the command that does.
import { allPanels, panelOf, run } from './data.js';
import { element, getState, setState, tell } from './state.js';

const examples = [['The ops that cost most', 'SELECT name, count, self_ns, self_ratio FROM op_summary LIMIT 10'],
  ['The lines that cost most', 'SELECT location, text, self_ns, backward_ns FROM code_summary LIMIT 10'],
  ['How long each step takes', 'SELECT number, dur_ns FROM steps WHERE is_warmup = 0 ORDER BY number'],
  ['What to do', 'SELECT severity, message, suggestion FROM advise']];

const quote = (text) => `'${text.replace(/'/g, "'\\''")}'`;
export const commandOf = (sql) => `tfprof ${run.runs} ${quote(sql.trim())}`;

// Names of views, tables and columns that begin as the word before the cursor does.
function wordsFor(text, at) {
  const word = /[A-Za-z_][\w]*$/.exec(text.slice(0, at)), wanted = word ? word[0].toLowerCase() : '';
  if (wanted.length < 2) return { wanted, words: [] };
  const views = panelOf('views'), columns = panelOf('columns'), names = new Set();
  const used = new Set((text.match(/\b[a-z_]\w*/gi) || []).map((each) => each.toLowerCase()));
  if (columns) for (const [table, column] of columns.all) {
    names.add(table);
    if (used.has(table)) names.add(column);
  }
  if (views) for (const [name] of views.all) names.add(name);
  const words = [...names].filter((name) => name.startsWith(wanted) && name !== wanted).sort();
  return { wanted, words: words.slice(0, 12) };
}

function makeConsole() {
  const chosen = getState('panel') && panelOf(getState('panel'));
  const box = element('textarea', { rows: '8', spellcheck: 'false', 'aria-label': 'SQL; Tab completes the word' });
  box.value = getState('sql') || (chosen ? chosen.sql : examples[0][1]);
  const list = element('ul', { class: 'words', 'aria-label': 'completions' });
  const command = element('pre', { class: 'sql', tabindex: '0' });
  const put = (word, wanted) => {
    const at = box.selectionStart;
    box.setRangeText(word, at - wanted.length, at, 'end');
    box.focus();
    update();
  };
  const update = () => {
    const { wanted, words } = wordsFor(box.value, box.selectionStart);
    list.replaceChildren(...words.map((word) => element('li', {}, element('button', { type: 'button', onclick: () => put(word, wanted) }, word))));
    command.textContent = commandOf(box.value);
  };
  box.addEventListener('input', update);
  box.addEventListener('change', () => setState({ sql: box.value }, true));
  box.addEventListener('keydown', (event) => {
    const { wanted, words } = wordsFor(box.value, box.selectionStart);
    if (event.key === 'Tab' && words.length && !event.shiftKey) {
      event.preventDefault();
      put(words[0], wanted);
    }
  });
  update();
  const copy = element('button', { type: 'button', onclick: () => navigator.clipboard && navigator.clipboard.writeText(commandOf(box.value)).then(() => tell('copied')) }, 'copy');
  const section = element('section', { class: 'panel console', 'aria-label': 'SQL' }, element('h2', {}, 'Ask'),
    element('p', { class: 'sentence' }, 'A file holds the rows of its panels; the command below asks the run. `tfprof serve` answers here.'),
    box, list, element('div', { class: 'tools' }, copy,
      ...examples.map(([title, sql]) => element('button', { type: 'button', title: sql, onclick: () => { box.value = sql; setState({ sql, panel: null }, true); update(); } }, title))),
    command);
  return section;
}

// Names with their manuals, by a filter.
export function makeViews(panel, rows) {
  const list = element('div', { class: 'views' });
  const fill = (text) => list.replaceChildren(...rows.filter((row) => row.some((cell) => String(cell).toLowerCase().includes(text))).map(
    ([name, kind, title, manual]) => element('details', {}, element('summary', {}, element('code', {}, name), ` ${title}${kind === 'view' ? '' : ` (${kind})`}`),
      element('pre', { class: 'sql', tabindex: '0' }, manual))));
  fill('');
  return element('div', {}, element('input', { type: 'search', placeholder: 'filter', 'aria-label': 'filter views', oninput: (event) => fill(event.target.value.toLowerCase()) }), list);
}

// The SELECT of a panel, to be opened above or run by hand.
function makeSql(panel) {
  return element('details', { id: `sql-${panel.name}`, open: getState('panel') === panel.name },
    element('summary', {}, `${panel.page}: ${panel.title} (${panel.all.length.toLocaleString('en')} rows)`),
    element('div', { class: 'tools' }, element('button', { type: 'button', onclick: () => { setState({ sql: panel.sql, panel: panel.name }); scrollTo(0, 0); } }, 'open in the box'),
      element('span', { class: 'note' }, `sql/panels/${panel.name}.sql`)),
    element('pre', { class: 'sql', tabindex: '0' }, panel.sql));
}

// `served`: the box of a server, in place of the command.
export function makeSqlPage(panels, served) {
  const list = allPanels().sort((a, b) => (a.page < b.page ? -1 : a.page > b.page ? 1 : a.place - b.place));
  return [served || makeConsole(), element('section', { class: 'panel' }, element('h2', {}, 'The questions behind every panel'),
    ...list.map(makeSql)), ...panels];
}
