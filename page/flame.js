// flame.js: a tree of costs as an icicle: the root on top, each below its caller and as wide as what it costs with all
// that it calls; or as a flame graph, the other way round.  Frames of one caller that are equal are one; they stand
// left heavy, the dearest first, or in the order in which they were called first.  A click looks closer, the root
// goes back; a search says which share of all lies in frames that are called so.
import { element, tell } from './state.js';
import { colours, inkOn, token } from './charts.js';
import { formatRatio, formatUnit } from './units.js';

const FLAME_ROW = 18,
  MOST_FLAME_ROWS = 60;

// rows: id, parent_id, label, location, value -> {label, location, self, total, children}, equal frames put together.
export function buildTree(rows, places) {
  const root = { label: 'all', location: null, self: 0, total: 0, children: new Map(), depth: 0 };
  const nodes = new Map(),
    raw = new Map(rows.map((row) => [row[places.id], row]));
  const nodeOf = (id) => {
    const path = [];
    let at = id;
    while (at !== null && raw.has(at) && !nodes.has(at) && path.length < 5000) {
      path.push(at);
      at = raw.get(at)[places.parent];
    }
    let node = at !== null && nodes.has(at) ? nodes.get(at) : root;
    for (const step of path.reverse()) {
      const row = raw.get(step),
        key = `${row[places.label]}\n${row[places.location]}`;
      let child = node.children.get(key);
      if (!child) {
        child = {
          label: row[places.label],
          location: row[places.location],
          self: 0,
          total: 0,
          children: new Map(),
          parent: node,
          depth: node.depth + 1,
        };
        node.children.set(key, child);
      }
      nodes.set(step, child);
      node = child;
    }
    return node;
  };
  for (const row of rows) {
    if (!(row[places.value] > 0)) continue;
    const node = nodeOf(row[places.id]);
    node.self += row[places.value];
    for (let up = node; up; up = up.parent) up.total += row[places.value];
  }
  return root;
}

function hashOf(text) {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return Math.abs(hash);
}

// fillOf(node): its colour; by default one by the place in the program.
export function makeFlame(root, unit, fillOf = null) {
  let focus = root,
    drawn = [];
  const canvas = element('canvas', {
    tabindex: '0',
    role: 'img',
    'aria-label': 'icicle of stacks; the table below has the same rows',
  });
  const said = element('p.note', {}, '\u00a0'),
    found = element('span.note', { 'aria-live': 'polite' });
  let wanted = '',
    isHeavy = true,
    isFlame = false,
    deepest = 0;
  const isFound = (node) =>
    node.label.toLowerCase().includes(wanted) || (node.location || '').toLowerCase().includes(wanted);
  const childrenOf = (node) => {
    const children = [...node.children.values()];
    return isHeavy ? children.sort((a, b) => b.total - a.total || (a.label < b.label ? -1 : 1)) : children;
  };
  // What lies in frames that are found, those inside of such counted once.
  const foundIn = (node) =>
    node !== root && isFound(node)
      ? node.total
      : [...node.children.values()].reduce((sum, child) => sum + foundIn(child), 0);
  const search = (text) => {
    wanted = text.trim().toLowerCase();
    found.textContent = wanted
      ? `${formatUnit(foundIn(root), unit)}, ${formatRatio(foundIn(root) / (root.total || 1))} of all`
      : '';
    draw();
  };
  const toggle = (words, title, change) => {
    const button = element(
      'button',
      {
        title,
        onclick: () => {
          button.textContent = words[Number(change())];
          draw();
        },
      },
      words[0],
    );
    return button;
  };
  const input = element('input', {
    type: 'search',
    placeholder: 'search',
    'aria-label': 'search frames',
    oninput: () => search(input.value),
  });
  const tools = element(
    'div.tools',
    {},
    input,
    toggle(['dearest first', 'first called first'], 'order of what one frame calls', () => {
      isHeavy = !isHeavy;
      return !isHeavy;
    }),
    toggle(['root on top', 'root below'], 'icicle or flame graph', () => (isFlame = !isFlame)),
    found,
  );
  const palette = [colours.cpu, colours.communication, colours.memset, colours.runtime];
  const draw = () => {
    const width = canvas.clientWidth,
      scale = devicePixelRatio || 1;
    if (!width) return;
    drawn = [];
    const path = [];
    for (let up = focus.parent; up; up = up.parent) path.unshift(up);
    deepest = 0;
    const place = (node, x, w, row) => {
      if (w < 1 || row > MOST_FLAME_ROWS) return;
      drawn.push({ node, x, w, row });
      deepest = Math.max(deepest, row);
      let at = x;
      for (const child of childrenOf(node)) {
        const part = (w * child.total) / node.total;
        place(child, at, part, row + 1);
        at += part;
      }
    };
    path.forEach((node, i) => drawn.push({ node, x: 0, w: width, row: i }));
    place(focus, 0, width, path.length);
    const height = (deepest + 1) * FLAME_ROW;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    pen.font = '12px system-ui';
    pen.textBaseline = 'middle';
    for (const { node, x, w, row: depth } of drawn) {
      const row = isFlame ? deepest - depth : depth;
      const fill =
        node === root
          ? token('--line')
          : fillOf
            ? fillOf(node)
            : palette[hashOf(node.location || node.label) % palette.length];
      pen.fillStyle = fill;
      pen.globalAlpha =
        wanted && (node === root || !isFound(node)) ? 0.15 : node === root || depth >= path.length ? 1 : 0.35;
      const isWhole = pen.globalAlpha === 1;
      pen.fillRect(x, row * FLAME_ROW, Math.max(w - 1, 0.5), FLAME_ROW - 1);
      pen.globalAlpha = 1;
      if (w > 40) {
        pen.fillStyle = isWhole ? inkOn(fill) : token('--ink');
        pen.save();
        pen.beginPath();
        pen.rect(x, row * FLAME_ROW, w - 3, FLAME_ROW);
        pen.clip();
        pen.fillText(
          node === root ? `all: ${formatUnit(root.total, unit)}` : node.label,
          x + 4,
          row * FLAME_ROW + FLAME_ROW / 2,
        );
        pen.restore();
      }
    }
  };
  const describe = (node) =>
    `${node.label}${node.location ? ` (${node.location})` : ''}: ` +
    `${formatUnit(node.total, unit)}, ${formatRatio(node.total / (root.total || 1))} of all; ` +
    `${formatUnit(node.self, unit)} of its own`;
  const find = (event) =>
    drawn.find(
      (box) =>
        Math.floor(event.offsetY / FLAME_ROW) === (isFlame ? deepest - box.row : box.row) &&
        event.offsetX >= box.x &&
        event.offsetX < box.x + box.w,
    );
  canvas.addEventListener('mousemove', (event) => {
    const box = find(event);
    said.textContent = box ? describe(box.node) : '\u00a0';
  });
  canvas.addEventListener('click', (event) => {
    const box = find(event);
    if (box) {
      focus = box.node;
      draw();
      tell(describe(focus));
    }
  });
  canvas.addEventListener('keydown', (event) => {
    const children = [...focus.children.values()].sort((a, b) => b.total - a.total);
    if (event.code === 'ArrowDown' && children.length) focus = children[0];
    else if (event.code === 'ArrowUp' && focus.parent) focus = focus.parent;
    else if (event.code === 'ArrowRight' && focus.parent) {
      const beside = [...focus.parent.children.values()].sort((a, b) => b.total - a.total);
      focus = beside[(beside.indexOf(focus) + 1) % beside.length];
    } else if (event.code === 'Escape') focus = root;
    else return;
    event.preventDefault();
    draw();
    said.textContent = describe(focus);
    tell(describe(focus));
  });
  new ResizeObserver(draw).observe(canvas);
  return element('div.flame', {}, tools, canvas, said);
}
