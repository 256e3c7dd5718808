// palette.js: everything that can be done, by typing a few letters of it (ctrl-K).
import { element } from './state.js';

const MOST_SHOWN = 12;

// Letters of what is typed come in this order in the text: how well they fit, less is better; NULL: they do not.
function fitOf(text, typed) {
  let at = -1,
    cost = 0;
  for (const letter of typed) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    cost += next - at - 1;
    at = next;
  }
  return cost + text.length / 100;
}

// commands: [text, key or null, action]; other(typed): one more for what nothing is called, or null.
export function showPalette(commands, other) {
  if (document.querySelector('dialog.palette')) return;
  let shown = [],
    chosen = 0;
  const list = element('ul', { role: 'listbox', id: 'palette-list' });
  const input = element('input', {
    type: 'search',
    'aria-label': 'command',
    placeholder: 'what to do',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'palette-list',
    oninput: () => {
      chosen = 0;
      fill();
    },
  });
  const dialog = element('dialog.palette', { 'aria-label': 'commands' }, input, list);
  const run = (command) => {
    dialog.close();
    command[2]();
  };
  const fill = () => {
    const typed = input.value.trim().toLowerCase();
    shown = commands
      .map((command) => [fitOf(command[0].toLowerCase(), typed.replace(/ /g, '')), command])
      .filter(([fit]) => fit !== null)
      .sort((a, b) => (typed ? a[0] - b[0] : 0))
      .slice(0, MOST_SHOWN)
      .map(([, command]) => command);
    const more = typed && other ? other(input.value.trim()) : null;
    if (more) shown.push(more);
    chosen = Math.max(0, Math.min(chosen, shown.length - 1));
    list.replaceChildren(
      ...shown.map((command, i) =>
        element(
          'li',
          { role: 'option', id: `palette-${i}`, 'aria-selected': String(i === chosen), onclick: () => run(command) },
          command[0],
          command[1] ? element('kbd', {}, command[1]) : null,
        ),
      ),
    );
    input.setAttribute('aria-activedescendant', `palette-${chosen}`);
  };
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') chosen++;
    else if (event.key === 'ArrowUp') chosen--;
    else if (event.key === 'Enter' && shown[chosen]) run(shown[chosen]);
    else return;
    event.preventDefault();
    if (dialog.open) fill();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  fill();
  dialog.showModal();
  input.focus();
}
