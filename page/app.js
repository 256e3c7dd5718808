// app.js: the pages, what is chosen above them, and the keys.
import { allPanels, panelOf, panelsOf, placeOn, readPanels, run, takeRows } from './data.js';
import { element, getState, onState, setState, stateSteps } from './state.js';
import { chosenProfile, chosenStep, makeSides } from './compare.js';
import { showPalette } from './palette.js';
import { askPanels, askRuns, chosenRun, follow, isAsked, isServed, servedRuns } from './served.js';
import { forgetEvents, reloadTimeline, remarkTimeline, showTimeline, shownTimeline } from './timeline.js';
import { forgetPlots, forgetPlotsIn } from './charts.js';
import { makePanel } from './panels.js';
import { lookForRecordable } from './record.js';
import { makeSqlPage } from './sql_page.js';

const pages = [
  ['overview', 'Overview'],
  ['timeline', 'Timeline'],
  ['code', 'Code'],
  ['ops', 'Ops'],
  ['memory', 'Memory'],
  ['devices', 'Devices'],
  ['ranks', 'Ranks'],
  ['steps', 'Steps'],
  ['compare', 'Compare'],
  ['input', 'Input'],
  ['model', 'Model'],
  ['counters', 'Counters'],
  ['sql', 'SQL'],
];
const forMarks = new Set([
  'lanes',
  'step_marks',
  'mark_path',
  'mark_gaps',
  'findings',
  'op_places',
  'memory_over_time',
  'counters_over_time',
]);
// What else is chosen on pages, beside them.
const choices = ['before', 'after', 'per', 'op', 'size', 'colour', 'f'];
const forTimeline = new Set(['header', 'marks', 'lanes']);

const shownPage = () => (pages.some(([name]) => name === getState('page')) ? getState('page') : 'overview');
const hasRows = (page) =>
  page === 'sql' ||
  page === 'overview' ||
  page === 'timeline' ||
  panelsOf(page).some((panel) => panel.all.length || panel.error || panel.isWaiting);

// ---- what is chosen ----

function profileChoice() {
  const lanes = panelOf('processes');
  if (!lanes || lanes.all.length < 2) return null;
  const at = (row, name) => row[lanes.at(name)];
  const select = element(
    'select',
    { id: 'profile', onchange: () => setState({ profile: select.value || null }) },
    element('option', { value: '' }, `all ${lanes.all.length}`),
    ...lanes.all.map((row) =>
      element(
        'option',
        { value: String(at(row, 'profile_id')) },
        [
          at(row, 'rank') !== null ? `rank ${at(row, 'rank')}` : null,
          at(row, 'host'),
          at(row, 'pid') !== null ? `process ${at(row, 'pid')}` : `profile ${at(row, 'profile_id')}`,
        ]
          .filter(Boolean)
          .join(' · '),
      ),
    ),
  );
  select.value = getState('profile') || '';
  return element('label', {}, 'process ', select);
}

function stepNumbers() {
  const marks = panelOf('step_marks');
  return marks ? [...new Set(marks.all.map((row) => row[marks.at('number')]))].sort((a, b) => a - b) : [];
}

function stepChoice() {
  const numbers = stepNumbers();
  if (!numbers.length) return null;
  const chosen = stateSteps();
  const box = (value, word) =>
    element('input', {
      type: 'number',
      value: String(value),
      min: String(numbers[0]),
      max: String(numbers[numbers.length - 1]),
      'aria-label': `${word} step`,
      onchange: () => {
        const [first, last] = boxes.map((each) => Number(each.value));
        if (first <= last) setState({ steps: `${first}-${last}`, t: null });
      },
    });
  const boxes = [
    box(chosen ? chosen[0] : numbers[0], 'first'),
    box(chosen ? chosen[1] : numbers[numbers.length - 1], 'last'),
  ];
  return element(
    'label',
    {},
    'steps ',
    boxes[0],
    ' to ',
    boxes[1],
    chosen ? element('button', { title: 'all steps', onclick: () => setState({ steps: null, t: null }) }, '✕') : null,
  );
}

function themeChoice() {
  const order = ['', 'light', 'dark'],
    words = { '': 'as the system', light: 'light', dark: 'dark' };
  const chosen = getState('theme') || '';
  return element(
    'button.theme',
    {
      title: `theme: ${words[chosen]}`,
      'aria-label': `theme: ${words[chosen]}`,
      onclick: () => setState({ theme: order[(order.indexOf(chosen) + 1) % 3] || null }, true),
    },
    '◐',
  );
}

// One step after the other, on the page that looks at one.
function stepSlider() {
  const numbers = stepNumbers();
  if (numbers.length < 2) return null;
  const at = Math.max(0, numbers.indexOf(chosenStep(chosenProfile())));
  const said = element('output', {}, `step ${numbers[at]}`);
  const slider = element('input', {
    type: 'range',
    min: '0',
    max: String(numbers.length - 1),
    value: String(at),
    'aria-label': 'step',
    oninput: () => {
      said.textContent = `step ${numbers[Number(slider.value)]}`;
    },
    onchange: () => {
      const number = numbers[Number(slider.value)];
      setState({ steps: `${number}-${number}`, t: null });
    },
  });
  return element(
    'section.panel.steps',
    { 'aria-label': 'the step that is looked at' },
    element('button', { title: '[', 'aria-label': 'the step before', onclick: () => stepBy(-1) }, '◀'),
    slider,
    element('button', { title: ']', 'aria-label': 'the next step', onclick: () => stepBy(1) }, '▶'),
    said,
    stateSteps() ? element('button', { onclick: () => setState({ steps: null, t: null }) }, 'the slowest') : null,
  );
}

// ---- pages ----

function showNavigation() {
  const page = shownPage();
  document.getElementById('pages').replaceChildren(
    ...pages.map(([name, title]) =>
      element(
        'a',
        {
          href: `#page=${name}`,
          class: hasRows(name) ? '' : 'without',
          title: hasRows(name) ? null : 'nothing of it was recorded',
          'aria-current': name === page ? 'page' : null,
          onclick: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            setState({ page: name, t: null, panel: null, f: null });
          },
        },
        title,
      ),
    ),
    element('span.choices', {}, runChoice(), profileChoice(), stepChoice(), themeChoice()),
  );
}

function showPage() {
  const main = document.getElementById('main'),
    page = shownPage();
  forgetPlots();
  main.className = page;
  if (page === 'timeline' && ['lanes', 'step_marks'].some((name) => panelOf(name).isWaiting)) {
    main.replaceChildren(element('p.empty', {}, 'asking …'));
    return;
  }
  if (page === 'timeline') {
    const holder = element('div.timeline', {});
    main.replaceChildren(holder);
    showTimeline(holder).then(() => main.setAttribute('data-ready', page));
    return;
  }
  if (page === 'sql') {
    main.replaceChildren(...makeSqlPage(panelsOf(page).map(makePanel)));
    const chosen = getState('panel') && document.getElementById(`sql-${getState('panel')}`);
    if (chosen && !getState('sql')) chosen.scrollIntoView();
  } else {
    main.replaceChildren(
      ...[page === 'steps' ? stepSlider() : page === 'compare' && panelOf('processes') ? makeSides() : null].filter(
        Boolean,
      ),
      ...panelsOf(page)
        .filter((panel) => !forTimeline.has(panel.keys.chart))
        .map(makePanel),
    );
    const wanted = getState('panel') && document.getElementById(`p-${getState('panel')}`);
    if (wanted) {
      wanted.classList.add('wanted');
      wanted.scrollIntoView();
    }
  }
  main.setAttribute('data-ready', page);
}

function showTheme() {
  const theme = getState('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.setAttribute('data-theme', theme);
  else document.documentElement.removeAttribute('data-theme');
}

function stepBy(by) {
  const numbers = stepNumbers();
  if (!numbers.length) return;
  const chosen = stateSteps();
  const at = chosen ? numbers.indexOf(chosen[0]) + by : by > 0 ? 0 : numbers.length - 1;
  const number = numbers[Math.max(0, Math.min(numbers.length - 1, at))];
  setState({ steps: `${number}-${number}` });
}

function showCommands() {
  const timeline = shownTimeline();
  showPalette(
    [
      ...(timeline ? timeline.commands() : []),
      ...pages.map(([page, title]) => [`page ${title}`, null, () => setState({ page, t: null, panel: null })]),
      ['light or dark', null, () => document.querySelector('.theme').click()],
    ],
    (typed) => [`search events for “${typed}”`, null, () => setState({ page: 'timeline', q: typed, panel: null })],
  );
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.code === 'KeyK') {
    event.preventDefault();
    showCommands();
    return;
  }
  if (event.target.closest('input, select, textarea')) return;
  const timeline = shownTimeline();
  if (timeline) {
    if (timeline.key(event)) event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.code === 'BracketLeft') stepBy(-1);
  if (event.code === 'BracketRight') stepBy(1);
}

function changed(now, before) {
  if (isServed && now.run !== before.run) askAgain();
  else if (isServed && now.page !== before.page) askStale(isNeeded);
  if (now.theme !== before.theme) showTheme();
  if (['page', 'profile', 'steps', 'panel', 'theme', ...choices].some((key) => now[key] !== before[key])) {
    document.getElementById('main').removeAttribute('data-ready');
    showNavigation();
    showPage();
    if (now.page !== before.page && !now.panel) scrollTo(0, 0);
  } else if (now.t !== before.t && shownTimeline()) {
    const timeline = shownTimeline(),
      { from, to } = timeline;
    timeline.takeWindow();
    if (Math.round(from) !== Math.round(timeline.from) || Math.round(to) !== Math.round(timeline.to)) timeline.draw();
  }
}

// ---- of a server ----

function runChoice() {
  const runs = isServed ? servedRuns() : [];
  if (runs.length < 2) return null;
  const select = element(
    'select',
    { id: 'run', onchange: () => setState({ run: select.value, profile: null, steps: null, t: null }) },
    element('option', { value: 'all' }, `all ${runs.length}`),
    ...runs.map((each, i) =>
      element('option', { value: String(i), title: each.path }, each.error ? `${each.name}: ${each.error}` : each.name),
    ),
  );
  select.value = chosenRun();
  return element('label', {}, 'run ', select);
}

function showFacts(panel) {
  const rows = panel.all.map((row) => [panel.at('name'), panel.at('value')].map((at) => String(row[at])));
  document
    .querySelector('.header-facts')
    .replaceChildren(
      ...rows.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    );
}

// The rows of a panel are there, or it says why not. What a person is busy with stays as it is.
function showRows(name, answer, error) {
  takeRows(name, answer, error);
  const panel = panelOf(name),
    section = document.getElementById(`p-${name}`);
  if (panel.keys.chart === 'header') showFacts(panel);
  if (section && !section.contains(document.activeElement) && !section.querySelector('details[open]')) {
    forgetPlotsIn(section);
    section.replaceWith(makePanel(panel));
  }
  if (['processes', 'compare_steps'].includes(name) && ['compare', 'steps'].includes(shownPage())) showPage();
  const busy = document.activeElement && document.activeElement.closest('#pages');
  if (!busy) showNavigation();
  if (allPanels().every((each) => !each.isWaiting)) document.documentElement.setAttribute('data-complete', '');
  if (panelsOf(shownPage()).every((each) => !each.isWaiting)) {
    document.documentElement.setAttribute('data-page-complete', shownPage());
    if (!performance.getEntriesByName('page-complete').length) performance.mark('page-complete');
  }
  if (
    ['lanes', 'step_marks'].includes(name) &&
    shownPage() === 'timeline' &&
    panelOf('lanes').isWaiting === false &&
    panelOf('step_marks').isWaiting === false &&
    !shownTimeline()
  )
    showPage();
  else if (forMarks.has(name)) {
    remarkTimeline();
    // Now there may be something.
    if (shownPage() === 'timeline' && document.querySelector('.timeline > .empty')) showPage();
  }
}

// The head, then the page that is shown, then what its choices and the timeline need, then the others.
const orderOf = (name) => {
  const panel = panelOf(name),
    page = shownPage();
  if (panel.keys.chart === 'header') return 0;
  if (placeOn(panel, page)) return 1 + placeOn(panel, page).place / 1000;
  return ['processes', 'step_marks', 'lanes'].includes(name) ? 2 : 3 + pages.findIndex(([each]) => each === panel.page);
};

function askAgain() {
  for (const panel of allPanels()) Object.assign(panel, { isWaiting: true, all: [], columns: [], error: null });
  document.documentElement.removeAttribute('data-complete');
  document.documentElement.removeAttribute('data-page-complete');
  forgetEvents();
  askPanels(
    allPanels().map((panel) => panel.name),
    showRows,
    orderOf,
  );
}

// What the page that is shown is made of, and the head above it.
const isNeeded = (panel) =>
  placeOn(panel, shownPage()) ||
  panel.keys.chart === 'header' ||
  ['processes', 'step_marks', 'lanes'].includes(panel.name) ||
  (shownPage() === 'timeline' && forMarks.has(panel.name)) ||
  (shownPage() === 'steps' && panel.name === 'compare_steps'); // which tells the slowest

// Rows have come: what is shown is asked for anew, and what is under way, which may not have them; the rest when it is
// shown.
async function takeChanges() {
  for (const panel of allPanels()) panel.isStale = true;
  askStale((panel) => isNeeded(panel) || panel.isWaiting || isAsked(panel.name));
  await reloadTimeline();
  if (shownPage() === 'timeline' && !shownTimeline()) showPage(); // until now there was nothing to show
}

function askStale(isWanted) {
  const stale = allPanels().filter((panel) => panel.isStale && isWanted(panel));
  for (const panel of stale) panel.isStale = false;
  askPanels(
    stale.map((panel) => panel.name),
    showRows,
    orderOf,
  );
}

// How old what is shown is, and whether more will come.
function showAge(changes, error) {
  let badge = document.getElementById('age');
  if (!badge) document.querySelector('header').append((badge = element('p', { id: 'age', class: 'note' })));
  if (error) {
    badge.textContent = `no answer from the server: ${error.message}`;
    return;
  }
  const age =
    changes.age_ns < 0
      ? ''
      : changes.age_ns < 120e9
        ? `${Math.round(changes.age_ns / 1e9)} s old`
        : changes.age_ns < 7200e9
          ? `${Math.round(changes.age_ns / 60e9)} min old`
          : changes.age_ns < 172800e9
            ? `${Math.round(changes.age_ns / 3600e9)} h old`
            : `${Math.round(changes.age_ns / 86400e9)} days old`;
  const sampling =
    changes.sampled > 0 && changes.sampled < changes.steps
      ? ` · ops of ${changes.sampled} of ${changes.steps} steps`
      : '';
  const state = changes.growing ? '● live, ' : 'ended, ';
  badge.textContent = changes.growing || age ? `${state}${age}${sampling}` : 'nothing is recorded yet';
  badge.className = changes.growing ? 'note live' : 'note';
  showTroubles(changes);
  lookForRecordable();
}

// Files that cannot be read, or no more.
function showTroubles({ troubles, trouble_count: count }) {
  let list = document.getElementById('troubles');
  if (!list) document.querySelector('header').append((list = element('ul', { id: 'troubles', role: 'status' })));
  const left = count - troubles.length,
    lines = troubles.map(([file, message]) => `▲ ${file || 'a file'}: ${message}`);
  if (left > 0) lines.push(`${left} more: “Dropped, damaged or not available” on the overview`);
  if (list.textContent !== lines.join('')) list.replaceChildren(...lines.map((line) => element('li', {}, line)));
}

async function startServed() {
  try {
    const runs = await askRuns(),
      names = runs.map((each) => each.name).join(' ');
    document.title = names;
    document.querySelector('h1').textContent = names;
    run.runs = runs.map((each) => each.path).join(' ');
  } catch (error) {
    document.getElementById('main').replaceChildren(element('p.empty', {}, error.message));
    return;
  }
  showNavigation();
  askAgain();
  if (shownPage() === 'sql') showPage();
  follow(showAge, takeChanges);
}

async function start() {
  showTheme();
  if (!window.DecompressionStream) {
    document
      .getElementById('main')
      .replaceChildren(
        element(
          'p.empty',
          {},
          'This browser has no DecompressionStream, without ' +
            'which nothing in this page can be read: Chromium from 80, Firefox from 113 and Safari from 16.4 have it.',
        ),
      );
    return;
  }
  await readPanels();
  // A file of some steps looks at those: what it has of all says so.
  if (!isServed && run.steps && !getState('steps')) setState({ steps: run.steps.join('-') }, true);
  showNavigation();
  showPage();
  onState(changed);
  addEventListener('keydown', onKey);
  addEventListener('keyup', (event) => {
    const timeline = shownTimeline();
    if (timeline) timeline.held.delete(event.code);
  });
  addEventListener('blur', () => {
    const timeline = shownTimeline();
    if (timeline) timeline.held.clear();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => showPage());
  // On paper all pages come one after the other, but for the timeline, of which its window stands there.
  addEventListener('beforeprint', () => {
    const main = document.getElementById('main');
    if (shownPage() === 'timeline') return;
    main.replaceChildren(
      ...pages
        .filter(([name]) => name !== 'timeline' && name !== 'sql' && hasRows(name))
        .flatMap(([name, title]) => [
          element('h1.page-title', {}, title),
          ...panelsOf(name)
            .filter((panel) => panel.page === name && !forTimeline.has(panel.keys.chart))
            .map(makePanel),
        ]),
    );
  });
  addEventListener('afterprint', showPage);
  performance.mark('rows');
  if (isServed) startServed();
}

// The rows of panels come before the events in a file: as soon as they are there, which `run` behind them tells.
function begin() {
  const last = document.getElementById('run'),
    isThere = document.readyState !== 'loading' || (last && last.nextElementSibling);
  if (isThere) start();
  else setTimeout(begin, 5);
}
begin();
