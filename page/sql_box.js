// sql_box.js: the box for SQL, with completion and examples; the address carries the text.  A served page answers, with
// the rows below the box; of a file it gives the command that does.
import { askServer, chosenRun, isServed } from './served.js';
import { csvOf, download, jsonOf, panelOf, run } from './data.js';
import { makeTable } from './table.js';
import { element, getState, setState, tell } from './state.js';
import { formatNs } from './units.js';

const MOST_SQL_ROWS = 10000;
const examples = [
  ['The ops that cost most', 'SELECT op, count, self_ns, self_ratio FROM op_summary LIMIT 10'],
  [
    'The lines that cost most',
    'SELECT location, text, self_ns, backward_ns FROM code_summary WHERE self_ns > 0 LIMIT 10',
  ],
  ['How long each step takes', 'SELECT number, training_ns FROM steps WHERE is_warmup = 0 ORDER BY number'],
  ['What to do', 'SELECT severity, message, suggestion FROM advise'],
];

const quote = (text) => `'${text.replace(/'/g, "'\\''")}'`;
const commandOf = (sql) => `tfprof ${run.runs} ${quote(sql.trim())}`;

// Names of views, tables and columns that begin as the word before the cursor does.
function wordsFor(text, at) {
  const word = /[A-Za-z_][\w]*$/.exec(text.slice(0, at)),
    wanted = word ? word[0].toLowerCase() : '';
  if (wanted.length < 2) return { wanted, words: [] };
  const names = new Set(),
    used = new Set((text.match(/\b[a-z_]\w*/gi) || []).map((each) => each.toLowerCase()));
  for (const [table, column] of panelOf('columns').all) {
    names.add(table);
    if (used.has(table)) names.add(column);
  }
  for (const [name, , , manual] of panelOf('views').all) {
    names.add(name);
    // The manual of a view has its columns at the beginning of lines.
    if (used.has(name))
      for (const line of manual.matchAll(/^ {2,}(\w[\w, ]*?)(?: {2}|$)/gm))
        line[1].split(/, */).forEach((each) => names.add(each));
  }
  const words = [...names].filter((name) => name.startsWith(wanted) && name !== wanted).sort();
  return { wanted, words: words.slice(0, 12) };
}

// What a served page has beside the box: the buttons, and rows that come below.
function makeAnswers(box) {
  let stopping = null;
  const root = element('div.result', { 'aria-live': 'polite' });
  const stop = element('button', { disabled: true, onclick: () => stopping && stopping.abort() }, 'Stop');
  const say = (words) => root.replaceChildren(element('p.empty', {}, words));
  const fail = ({ error, place, interrupted }) => {
    say(
      interrupted
        ? 'This takes longer than ten seconds, which is all that the page gives it. At the command line it may take ' +
            `its time: ${commandOf(box.value)}`
        : error,
    );
    if (interrupted || !(place >= 0)) return;
    // The place counts bytes, the box counts letters.
    const at = new TextDecoder().decode(new TextEncoder().encode(box.value).subarray(0, place)).length;
    box.focus();
    box.setSelectionRange(at, Math.max(at + 1, at + /^\w*/.exec(box.value.slice(at))[0].length));
  };
  const show = ({ rows, columns, more, ns }) => {
    const count = `${rows.length.toLocaleString('en')} rows${more ? ', the first of more' : ''}`;
    const save = (title, type, textOf) =>
      element('button', { onclick: () => download(`rows.${title.toLowerCase()}`, type, textOf(columns, rows)) }, title);
    root.replaceChildren(
      element(
        'p.note',
        {},
        `${count}, ${formatNs(ns)} `,
        save('CSV', 'text/csv', csvOf),
        save('JSON', 'application/json', jsonOf),
      ),
      makeTable(columns, rows, 'result'),
    );
    tell(count);
  };
  const ask = async () => {
    if (stopping) stopping.abort();
    const mine = (stopping = new AbortController());
    setState({ sql: box.value }, true);
    stop.disabled = false;
    say('asking …');
    try {
      const answer = await (
        await askServer(
          'sql',
          { run: chosenRun(), rows: MOST_SQL_ROWS },
          { view: 'sql', body: box.value, signal: mine.signal },
        )
      ).json();
      if (mine === stopping) (answer.interrupted || answer.error ? fail : show)(answer);
    } catch (error) {
      if (mine === stopping) say(error.name === 'AbortError' ? 'Stopped.' : error.message);
    } finally {
      if (mine === stopping) stop.disabled = true;
    }
  };
  return { root, ask, tools: [element('button', { title: 'ctrl-Enter', onclick: ask }, 'Run'), stop] };
}

// What a file has there: the command.
function makeCommand(box) {
  const root = element('pre.sql', { tabindex: '0' });
  return {
    root,
    update: () => {
      root.textContent = commandOf(box.value);
    },
    tools: [
      element(
        'button',
        {
          onclick: () =>
            navigator.clipboard && navigator.clipboard.writeText(commandOf(box.value)).then(() => tell('copied')),
        },
        'copy',
      ),
    ],
  };
}

export function makeSqlBox() {
  const chosen = getState('panel') && panelOf(getState('panel'));
  const box = element('textarea', { rows: '8', spellcheck: 'false', 'aria-label': 'SQL; Tab completes the word' });
  box.value = getState('sql') || (chosen ? chosen.sql : examples[0][1]);
  const list = element('ul.words', { 'aria-label': 'completions' });
  const below = isServed ? makeAnswers(box) : makeCommand(box);
  const update = () => {
    const { wanted, words } = wordsFor(box.value, box.selectionStart);
    list.replaceChildren(
      ...words.map((word) => element('li', {}, element('button', { onclick: () => put(word, wanted) }, word))),
    );
    if (below.update) below.update();
  };
  const put = (word, wanted) => {
    const at = box.selectionStart;
    box.setRangeText(word, at - wanted.length, at, 'end');
    box.focus();
    update();
  };
  box.addEventListener('input', update);
  box.addEventListener('change', () => setState({ sql: box.value }, true));
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && below.ask) {
      event.preventDefault();
      below.ask();
      return;
    }
    if (event.key !== 'Tab' || event.shiftKey) return;
    const { wanted, words } = wordsFor(box.value, box.selectionStart);
    if (!words.length) return;
    event.preventDefault();
    put(words[0], wanted);
  });
  update();
  if (below.ask && getState('sql')) below.ask();
  return element(
    'section.panel',
    { id: 'sql-box', 'aria-label': 'SQL' },
    element('h2', {}, 'Ask'),
    isServed
      ? null
      : element(
          'p.sentence',
          {},
          'A file holds the rows of its panels; the command below asks the run. `tfprof serve` answers here.',
        ),
    box,
    list,
    element(
      'div.tools',
      {},
      ...below.tools,
      ...examples.map(([title, sql]) =>
        element(
          'button',
          {
            title: sql,
            onclick: () => {
              box.value = sql;
              setState({ sql, panel: null }, true);
              update();
              if (below.ask) below.ask();
            },
          },
          title,
        ),
      ),
    ),
    below.root,
  );
}
