// state.js: what is looked at, which the address carries: #page=timeline&profile=1&steps=10-19&t=0-5000000.
// Each change is a step of the browser's history where it is one of the person's.

const listeners = [];
let current = parse(location.hash);

function parse(hash) {
  const state = {};
  for (const part of hash.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (at <= 0) continue;
    try {
      state[decodeURIComponent(part.slice(0, at))] = decodeURIComponent(part.slice(at + 1));
    } catch {
      // not ours: a % that is none
    }
  }
  return state;
}

function format(state) {
  const parts = Object.entries(state).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return '#' + parts.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join('&');
}

export const getState = (key) => current[key];

// `isSmall`: not a place of its own to come back to, such as each frame of a zoom.
export function setState(changes, isSmall = false) {
  const next = { ...current, ...changes };
  const hash = format(next);
  if (hash === format(current)) return;
  const before = current;
  current = parse(hash);
  history[isSmall ? 'replaceState' : 'pushState'](null, '', hash);
  for (const listener of listeners) listener(current, before);
}

// The address with some of it changed.
const formatState = (changes) => format({ ...current, ...changes });
export const onState = (listener) => listeners.push(listener);

addEventListener('popstate', () => {
  const before = current;
  current = parse(location.hash);
  for (const listener of listeners) listener(current, before);
});

export function stateSteps() {
  const match = /^(-?\d+)-(-?\d+)$/.exec(current.steps || '');
  return match ? [Number(match[1]), Number(match[2])] : null;
}

// ---- elements ----

// element('p.x', {onclick: f}, 'text', child) is of the class x: texts are texts, never markup.
export function element(words, attributes = {}, ...children) {
  const [name, ...classes] = words.split('.'),
    made = document.createElement(name);
  if (classes.length) made.className = classes.join(' ');
  if (name === 'button') made.type = 'button';
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A link to what the address says with some of it changed, which goes there without a load.
export const linkTo = (text, changes) =>
  element(
    'a',
    {
      href: formatState(changes),
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        setState(changes);
      },
    },
    text,
  );

export const makeFigure = (caption, ...children) =>
  element('figure', {}, element('figcaption', {}, caption), ...children);
export const tell = (text) => {
  document.getElementById('told').textContent = text;
};
