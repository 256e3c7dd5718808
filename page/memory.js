// memory.js: who holds memory: a shape for each large allocation over time, who holds it at the moment that is chosen,
// and where the allocations lie in the segments of the allocator.
import { colourOf, token } from './charts.js';
import { memoryTotals, panelOf, rowsOf, stepWindow } from './data.js';
import { element, getState, makeFigure, onState, setState, tell } from './state.js';
import { makeTable } from './table.js';
import { formatBytes, formatMoment, formatNs } from './units.js';

const BLOCKS_HEIGHT = 300,
  AXIS = 18,
  HOLD_ROWS = 200,
  MOST_MEMORIES = 8,
  FIRST_SEGMENTS = 24,
  MOST_SEGMENTS = 500;
const isLive = (block, time) => block.from <= time && (block.to === null || block.to > time);

function readBlocks(rows, columns) {
  const at = Object.fromEntries(columns.map((name, i) => [name, i]));
  return rows.map((row) => ({
    row,
    id: row[at.id],
    device: String(row[at.device]),
    from: row[at.at_ns],
    to: row[at.released_at_ns],
    bytes: row[at.bytes],
    address: row[at.address] === null ? null : Number(row[at.address]),
    category: row[at.category],
    tensor: [row[at.dtype], row[at.shape]].filter(Boolean).join(' ') || null,
    op: row[at.op_name],
    module: row[at.module],
    location: row[at.location],
  }));
}

// Each block lies on those that were made before it and are still held; when one below goes, those above sink.
// Gives each its outline: steps [time, bottom], the last at its end.
function stackUp(blocks, end) {
  const changes = [];
  for (const block of blocks) {
    changes.push([block.from, 1, block]);
    if (block.to !== null) changes.push([block.to, 0, block]);
  }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const live = [];
  let top = 0,
    most = 0,
    mostAt = blocks.length ? blocks[0].from : 0;
  for (const [time, isNew, block] of changes) {
    if (isNew) {
      block.steps = [[time, top]];
      live.push(block);
      top += block.bytes;
      if (top > most) [most, mostAt] = [top, time];
      continue;
    }
    const place = live.indexOf(block);
    if (place < 0) continue;
    live.splice(place, 1);
    top -= block.bytes;
    for (let i = place; i < live.length; i++) {
      const steps = live[i].steps,
        bottom = steps[steps.length - 1][1];
      steps.push([time, bottom - block.bytes]);
    }
  }
  for (const block of blocks) block.end = block.to === null ? end : block.to;
  return { most, mostAt };
}

class Blocks {
  constructor(device, blocks) {
    Object.assign(this, { device, blocks, totals: memoryTotals().get(device) || [], hovered: null });
    this.start = Math.min(...blocks.map((block) => block.from), ...this.totals.slice(0, 1).map(([time]) => time));
    this.end = Math.max(
      ...blocks.map((block) => block.to ?? block.from),
      ...this.totals.slice(-1).map(([time]) => time),
      this.start + 1,
    );
    Object.assign(this, stackUp(blocks, this.end));
    for (const [time, bytes] of this.totals) if (bytes > this.most) [this.most, this.mostAt] = [bytes, time];
    // The steps that are chosen, as far as allocations were recorded then.
    const [from, to] = stepWindow() || [this.start, this.end],
      isSeen = from < this.end && to > this.start;
    [this.from, this.to] = isSeen ? [Math.max(from, this.start), Math.min(to, this.end)] : [this.start, this.end];
    this.canvas = element('canvas.blocks', {
      tabindex: '0',
      role: 'application',
      'aria-label': `allocations of ${device}: arrows move the moment, P: peak, Escape: all`,
    });
    this.canvas.style.height = `${BLOCKS_HEIGHT + AXIS}px`;
    this.said = element('p.note', {}, '\u00a0');
    this.holders = element('div');
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.root = makeFigure(
      device,
      element(
        'div.tools',
        {},
        element(
          'button',
          { title: 'P', onclick: () => this.choose(this.mostAt) },
          `peak: ${formatBytes(this.most)} at ${formatNs(this.mostAt)}`,
        ),
        element('button', { title: 'Escape', onclick: () => this.zoom(this.start, this.end) }, 'all'),
      ),
      this.canvas,
      this.said,
      this.holders,
    );
    this.showHolders();
  }

  get moment() {
    const at = Number(getState('at'));
    return getState('at') && at >= this.start && at <= this.end ? at : this.mostAt;
  }
  xOf(time) {
    return ((time - this.from) / (this.to - this.from)) * this.canvas.clientWidth;
  }
  timeAt(x) {
    return this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
  }
  yOf(bytes) {
    return BLOCKS_HEIGHT - 2 - (bytes / (this.most * 1.04)) * (BLOCKS_HEIGHT - 4);
  }

  zoom(from, to) {
    [this.from, this.to] = [from, to];
    this.draw();
    this.showHolders();
  }

  choose(time) {
    setState({ at: String(Math.round(Math.max(this.start, Math.min(this.end, time)))) }, true);
  }

  draw() {
    const width = this.canvas.clientWidth,
      scale = devicePixelRatio || 1;
    if (!width) return;
    this.canvas.width = width * scale;
    this.canvas.height = (BLOCKS_HEIGHT + AXIS) * scale;
    const pen = this.canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = token('--panel');
    pen.fillRect(0, 0, width, BLOCKS_HEIGHT);
    pen.clearRect(0, BLOCKS_HEIGHT, width, AXIS);
    this.shape(pen, this.totals, this.end, 0);
    pen.fillStyle = token('--strong');
    pen.fill();
    for (const block of this.blocks) {
      if (block.from > this.to || block.end < this.from) continue;
      this.shape(pen, block.steps, block.end, block.bytes);
      pen.fillStyle = colourOf(
        String(block.category || block.op || '?'),
        String(block.op || block.id).length + Math.round(Math.log2(block.bytes)),
      );
      pen.globalAlpha = !this.hovered || this.hovered === block ? 1 : 0.45;
      pen.fill();
      pen.globalAlpha = 1;
      if (block.bytes > this.most / 80) {
        pen.strokeStyle = token('--ground');
        pen.lineWidth = 0.5;
        pen.stroke();
      }
    }
    this.drawAxes(pen, width);
    const x = this.xOf(this.moment);
    pen.fillStyle = token('--ink');
    pen.fillRect(Math.round(x), 0, 1, BLOCKS_HEIGHT);
    if (this.dragged) {
      pen.fillStyle = token('--area');
      pen.fillRect(Math.min(...this.dragged), 0, Math.abs(this.dragged[1] - this.dragged[0]), BLOCKS_HEIGHT);
    }
  }

  // How much, on lines across, and when, below.
  drawAxes(pen, width) {
    const step = 2 ** Math.ceil(Math.log2(this.most / 4)),
      span = this.to - this.from,
      power = 10 ** Math.floor(Math.log10(span / (width / 110)));
    const tick = [1, 2, 5, 10].map((factor) => factor * power).find((each) => span / each <= width / 110) || span;
    pen.font = '12px system-ui';
    for (let bytes = step; bytes < this.most * 1.04; bytes += step) {
      const y = Math.round(this.yOf(bytes)),
        text = formatBytes(bytes);
      pen.fillStyle = token('--line');
      pen.fillRect(0, y, width, 1);
      pen.fillStyle = token('--ground');
      pen.fillRect(0, y + 1, pen.measureText(text).width + 8, 16);
      pen.fillStyle = token('--quiet');
      pen.fillText(text, 4, y + 13);
    }
    for (let time = Math.ceil(this.from / tick) * tick; time <= this.to; time += tick) {
      const x = this.xOf(time),
        text = formatMoment(time, tick);
      pen.fillRect(Math.round(x), BLOCKS_HEIGHT, 1, 4);
      pen.fillText(text, Math.min(x + 3, width - pen.measureText(text).width), BLOCKS_HEIGHT + 14);
    }
  }

  // The path of what goes by steps; `thick`: a band of so many bytes, else all down to zero.
  shape(pen, steps, end, thick) {
    pen.beginPath();
    for (let i = 0; i < steps.length; i++) {
      const y = this.yOf(steps[i][1] + thick);
      pen.lineTo(this.xOf(steps[i][0]), y);
      pen.lineTo(this.xOf(i + 1 < steps.length ? steps[i + 1][0] : end), y);
    }
    for (let i = steps.length - 1; i >= 0; i--) {
      const y = thick ? this.yOf(steps[i][1]) : this.yOf(0);
      pen.lineTo(this.xOf(i + 1 < steps.length ? steps[i + 1][0] : end), y);
      pen.lineTo(this.xOf(steps[i][0]), y);
    }
    pen.closePath();
  }

  find(x, y) {
    const time = this.timeAt(x);
    for (const block of this.blocks) {
      if (!isLive(block, time)) continue;
      let bottom = block.steps[0][1];
      for (const step of block.steps) if (step[0] <= time) bottom = step[1];
      if (y <= this.yOf(bottom) && y >= this.yOf(bottom + block.bytes)) return block;
    }
    return null;
  }

  describe(block) {
    const told = [block.category, block.tensor, block.op, block.module, block.location].filter(Boolean);
    return (
      `${[formatBytes(block.bytes), ...told].join(' · ')} · from ${formatNs(block.from)} ` +
      (block.to === null ? 'to the end' : `for ${formatNs(block.to - block.from)}`)
    );
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('mousedown', (event) => {
      this.dragged = [event.offsetX, event.offsetX];
    });
    canvas.addEventListener('mousemove', (event) => {
      if (this.dragged) this.dragged[1] = event.offsetX;
      else {
        this.hovered = this.find(event.offsetX, event.offsetY);
        this.said.textContent = this.hovered ? this.describe(this.hovered) : '\u00a0';
      }
      this.draw();
    });
    canvas.addEventListener('mouseup', (event) => {
      if (!this.dragged) return;
      const [from, to] = this.dragged.map((x) => this.timeAt(x)).sort((a, b) => a - b);
      const isBrush = Math.abs(this.dragged[1] - this.dragged[0]) > 4;
      this.dragged = null;
      if (isBrush) this.zoom(from, to);
      else this.choose(this.timeAt(event.offsetX));
    });
    canvas.addEventListener('mouseleave', () => {
      this.dragged = this.hovered = null;
      this.draw();
    });
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const by = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.code];
      if (by) this.choose(this.moment + by * (this.to - this.from));
      else if (event.code === 'KeyP') this.choose(this.mostAt);
      else if (event.code === 'Escape') this.zoom(this.start, this.end);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  showHolders() {
    const isZoomed = this.from > this.start || this.to < this.end,
      { moment } = this;
    const live = this.blocks.filter((block) => isLive(block, moment)).sort((a, b) => b.bytes - a.bytes);
    const inside = isZoomed
      ? this.blocks
          .filter((block) => block.from >= this.from && block.from <= this.to)
          .sort((a, b) => b.bytes - a.bytes)
      : [];
    const sum = live.reduce((total, block) => total + block.bytes, 0);
    const table = (list, title) =>
      makeTable(
        ['bytes', 'category', 'tensor', 'op_name', 'module', 'location', 'at_ns', 'dur_ns'],
        list
          .slice(0, HOLD_ROWS)
          .map((block) => [
            block.bytes,
            block.category,
            block.tensor,
            block.op,
            block.module,
            block.location,
            block.from,
            block.to === null ? null : block.to - block.from,
          ]),
        title,
        { first: 10 },
      );
    const before = this.totals.filter(([time]) => time <= moment).pop();
    this.holders.replaceChildren(
      element(
        'h3',
        {},
        `At ${formatNs(moment)}: ${live.length.toLocaleString('en')} large allocations ` +
          `hold ${formatBytes(sum)}${before && before[1] > sum ? ` of ${formatBytes(before[1])} in use` : ''}`,
      ),
      table(live, `who holds memory at ${formatNs(moment)}`),
      ...(isZoomed
        ? [element('h3', {}, `Made in the window: ${inside.length}`), table(inside, 'made in the window')]
        : []),
    );
  }
}

let shown = [];
onState((now, before) => {
  if (now.at === before.at) return;
  shown = shown.filter((each) => each.root.isConnected);
  for (const each of shown) each.moved();
});

export function makeBlocks(panel, rows) {
  const blocks = readBlocks(rows, panel.columns),
    devices = [...new Set(blocks.map((block) => block.device))];
  const left = devices.length - MOST_MEMORIES;
  const views = devices.slice(0, MOST_MEMORIES).map(
    (device) =>
      new Blocks(
        device,
        blocks.filter((block) => block.device === device),
      ),
  );
  for (const view of views) {
    view.moved = () => {
      view.draw();
      view.showHolders();
      tell(view.holders.firstChild.textContent);
    };
    shown.push(view);
  }
  return element(
    'div.multiples.wide',
    {},
    ...views.map((view) => view.root),
    left > 0 ? element('p.note', {}, `${left} more: choose a process above, or see the table.`) : null,
  );
}

// ---- the address map ----

const isHeld = (from, to, time) => from === null || time === null || (from <= time && (to === null || to > time));

export function makeAddresses(panel, rows) {
  const at = (name) => panel.at(name),
    source = panelOf('memory_blocks');
  const blocks = source ? readBlocks(rowsOf(source), source.columns).filter((block) => block.address !== null) : [];
  const root = element('div');
  let mostShown = FIRST_SEGMENTS;
  const view = {
    root,
    moved() {
      const time = getState('at') ? Number(getState('at')) : null;
      const live = rows.filter((row) => isHeld(row[at('at_ns')], row[at('released_at_ns')], time));
      const most = Math.max(...live.map((row) => row[at('bytes')]), 1);
      root.replaceChildren(
        element(
          'p.note',
          {},
          (time === null ? 'At the end' : `At ${formatNs(time)}`) +
            `: ${live.length} segments, ${formatBytes(live.reduce((sum, row) => sum + row[at('bytes')], 0))}; ` +
            'what is not coloured is free or held by small allocations.',
        ),
        element(
          'ol.addresses',
          {},
          ...live.slice(0, mostShown).map((row) => {
            const start = Number(row[at('address')]),
              bytes = row[at('bytes')],
              bar = element('span.segment', {});
            const inside = blocks.filter(
              (block) =>
                block.address >= start &&
                block.address < start + bytes &&
                (time === null ? block.to === null : isLive(block, time)),
            );
            bar.style.width = `${Math.max(0.5, (100 * bytes) / most)}%`;
            bar.append(
              ...inside.map((block) => {
                const piece = element('span.piece', {
                  title: `${formatBytes(block.bytes)} ${block.op || ''} ${block.location || ''}`,
                });
                piece.style.left = `${(100 * (block.address - start)) / bytes}%`;
                piece.style.width = `${(100 * block.bytes) / bytes}%`;
                piece.style.background = colourOf(
                  String(block.category || block.op || '?'),
                  String(block.op || '').length,
                );
                return piece;
              }),
            );
            const held = inside.reduce((sum, block) => sum + block.bytes, 0);
            return element(
              'li',
              {},
              element('span.label', {}, `0x${start.toString(16)}`),
              element('span.number', {}, `${formatBytes(bytes)}, ${formatBytes(held)} in large ones`),
              bar,
            );
          }),
        ),
        live.length > mostShown
          ? element(
              'button.more',
              {
                onclick: () => {
                  mostShown = MOST_SEGMENTS;
                  view.moved();
                },
                disabled: mostShown === MOST_SEGMENTS,
              },
              `${live.length - mostShown} more ${mostShown === MOST_SEGMENTS ? 'are in the table' : 'segments'}`,
            )
          : '',
      );
    },
  };
  view.moved();
  shown.push(view);
  return root;
}
