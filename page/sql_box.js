// sql_box.js: on a served page, a box for SQL of one's own, with its rows below; the address carries the text.
import { askServer, chosenRun } from './served.js';
import { csvOf, download, jsonOf } from './data.js';
import { makeTable } from './table.js';
import { element, getState, setState, tell } from './state.js';
import { formatNs } from './units.js';

const MOST_SQL_ROWS = 10000;
const firstSql = 'SELECT name, count, self_ns, self_ratio FROM op_summary LIMIT 20';

export function makeSqlBox() {
  let stopping = null;
  const text = element('textarea', { rows: '6', spellcheck: 'false', 'aria-label': 'SQL' });
  text.value = getState('sql') || firstSql;
  const result = element('div', { class: 'result', 'aria-live': 'polite' });
  const run = element('button', { type: 'button', title: 'ctrl-Enter' }, 'Run');
  const stop = element('button', { type: 'button', disabled: true, onclick: () => stopping && stopping.abort() }, 'Stop');
  const say = (words) => result.replaceChildren(element('p', { class: 'empty' }, words));
  const ask = async () => {
    if (stopping) stopping.abort();
    const mine = stopping = new AbortController();
    setState({ sql: text.value }, true);
    stop.disabled = false;
    say('asking …');
    try {
      const answer = await (await askServer('sql', { run: chosenRun(), rows: MOST_SQL_ROWS },
        { view: 'sql', body: text.value, signal: mine.signal })).json();
      if (mine !== stopping) return;
      if (answer.interrupted) {
        say('This takes longer than ten seconds, which is all that the page gives it. At the command line it may take its time: ' +
          'tfprof RUN "SELECT …"');
      } else if (answer.error) {
        say(answer.error);
        if (answer.place >= 0) {
          // The place counts bytes, the box counts letters.
          const at = new TextDecoder().decode(new TextEncoder().encode(text.value).subarray(0, answer.place)).length;
          text.focus();
          text.setSelectionRange(at, Math.max(at + 1, at + /^\w*/.exec(text.value.slice(at))[0].length));
        }
      } else {
        const count = `${answer.rows.length.toLocaleString('en')} rows${answer.more ? ', the first of more' : ''}`;
        result.replaceChildren(element('p', { class: 'note' }, `${count}, ${formatNs(answer.ns)} `,
          element('button', { type: 'button', onclick: () => download('rows.csv', 'text/csv', csvOf(answer.columns, answer.rows)) }, 'CSV'),
          element('button', { type: 'button', onclick: () => download('rows.json', 'application/json',
            jsonOf(answer.columns, answer.rows)) }, 'JSON')), makeTable(answer.columns, answer.rows, 'result'));
        tell(count);
      }
    } catch (error) {
      if (mine === stopping) say(error.name === 'AbortError' ? 'Stopped.' : error.message);
    } finally {
      if (mine === stopping) stop.disabled = true;
    }
  };
  run.addEventListener('click', ask);
  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    ask();
  });
  if (getState('sql')) ask();
  return element('section', { class: 'panel', id: 'sql-box' }, element('div', { class: 'panel-head' }, element('h2', {}, 'Ask'),
    element('div', { class: 'tools' }, run, stop)), text, result);
}
