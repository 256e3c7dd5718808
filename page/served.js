// served.js: what a page asks of `tfprof serve`, where a file would have it in itself (ext/serve/listener.h has the
// addresses).  The token comes with the address, behind its #, and goes with each question as a header; the address
// does not keep it, the tab does.
import { getState, setState } from './state.js';

const holder = document.getElementById('served');
export const isServed = holder !== null;
export const servedPage = isServed ? JSON.parse(holder.textContent) : null;
const AT_ONCE = 2,
  TOKEN = 'tfprof-token'; // one is answered while the other comes
const visitor = isServed ? crypto.getRandomValues(new Uint32Array(2)).join('-') : '';
let bearer = null;

if (isServed) {
  if (getState('token')) sessionStorage.setItem(TOKEN, getState('token'));
  bearer = sessionStorage.getItem(TOKEN);
  setState({ token: null }, true);
}

// ---- questions ----

const asking = new Map(); // what a place waits for

// `view` is the place that asks: a newer question of it takes the place of an older one, which fails with the status
// 409.
export async function askServer(path, parameters = {}, { view = null, body = null, signal = null } = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters))
    if (value !== null && value !== undefined) words.set(key, value);
  if (view) words.set('view', `${visitor}-${view}`);
  const stopping = new AbortController();
  if (signal) signal.addEventListener('abort', () => stopping.abort());
  if (view) {
    if (asking.has(view)) asking.get(view).abort();
    asking.set(view, stopping);
  }
  let reply;
  try {
    reply = await fetch(`/api/${path}?${words}`, {
      method: body === null ? 'GET' : 'POST',
      body,
      signal: stopping.signal,
      cache: 'no-store',
      credentials: 'omit',
      headers: { Authorization: `Bearer ${bearer}` },
    });
  } catch (error) {
    throw stopping.signal.aborted && !(signal && signal.aborted)
      ? Object.assign(new Error('asked anew'), { status: 409 })
      : error;
  } finally {
    if (view && asking.get(view) === stopping) asking.delete(view);
  }
  if (!reply.ok) {
    const error = new Error((await reply.text()).trim() || reply.statusText);
    error.status = reply.status;
    throw error;
  }
  return reply;
}

export const hasToken = () => Boolean(bearer);
let runs = [];
export const servedRuns = () => runs;
export async function askRuns() {
  runs = (await (await askServer('runs')).json()).runs;
  return runs;
}

// Of several runs all together, as in a report of them, where none is chosen.
export function chosenRun() {
  const run = getState('run');
  return run !== null && /^\d+$/.test(run || '') && Number(run) < runs.length ? run : runs.length > 1 ? 'all' : '0';
}

// ---- panels, the ones that are looked at first ----

const wanted = []; // names, the first of them next
const answering = new Set();
export const isAsked = (name) => wanted.includes(name) || answering.has(name);
let underWay = 0,
  onRows = () => {},
  firstOf = () => 0;

function nextPanel() {
  while (underWay < AT_ONCE && wanted.length) {
    wanted.sort((a, b) => firstOf(a) - firstOf(b));
    const name = wanted.shift(),
      run = chosenRun();
    underWay++;
    answering.add(name);
    askServer('panel', { run, name }, { view: `panel-${name}` })
      .then((reply) => reply.json())
      .then((answer) => {
        if (run === chosenRun()) onRows(name, answer.panel, null);
      })
      .catch((error) => {
        if (error.status !== 409) onRows(name, null, error);
      })
      .finally(() => {
        underWay--;
        answering.delete(name);
        nextPanel();
      });
  }
}

// rows(name, panel, error) is called for each as it comes; order(name): the least is asked for first.
export function askPanels(names, rows, order) {
  onRows = rows;
  firstOf = order;
  for (const name of names) if (!wanted.includes(name)) wanted.push(name);
  nextPanel();
}

// ---- events ----

// {head, columnOf(id)}: `head` as the element of a file has it, with what the server says of it; the bytes of columns
// by the ids of a file's elements.
export async function askEvents(parameters = {}, options = {}) {
  const bytes = new Uint8Array(
    await (
      await askServer('events', { run: chosenRun(), ...parameters }, { view: 'timeline', ...options })
    ).arrayBuffer(),
  );
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))),
    columns = new Map();
  let at = 4 + length;
  head.bytes.forEach((lengths, bundle) =>
    lengths.forEach((size, k) => {
      if (size) columns.set(`bundle-${bundle}-${head.columns[k]}`, bytes.subarray(at, at + size));
      at += size;
    }),
  );
  return { head, columnOf: (id) => columns.get(id) || null };
}

// ---- live ----

const PAUSE = 2000,
  LONG_PAUSE = 20000;
let lookAgain = () => {};
// At once, since something has come.
export const lookNow = () => lookAgain();

// Asks what has come, while the page is looked at: at most each two seconds, seldom when nobody writes any more, and
// when someone comes back to it.
export function follow(tell, came) {
  let seen = null,
    run = null,
    timer = null;
  const ask = async () => {
    let pause = PAUSE;
    timer = null;
    if (!document.hidden) {
      try {
        const now = chosenRun(),
          changes = await (await askServer('changes', { run: now }, { view: 'changes' })).json();
        if (now !== run) [run, seen] = [now, changes.version];
        tell(changes, null);
        if (changes.version !== seen) {
          seen = changes.version;
          await came();
        }
        if (!changes.growing) pause = LONG_PAUSE;
      } catch (error) {
        if (error.status !== 409) tell(null, error);
        if (error.status === 401) return;
      }
    }
    timer = setTimeout(ask, pause);
  };
  lookAgain = () => {
    if (document.hidden || timer === null) return;
    clearTimeout(timer);
    ask();
  };
  document.addEventListener('visibilitychange', lookAgain);
  ask();
}
