// timeline_view.js: what a canvas shows of the tracks: rows from top to bottom, a window of time from left to right.
//
// An event of two pixels or more is a rectangle.  What is narrower is put together by the pixel: as high as the share
// of the pixel that it fills, in the colour of what fills most, so that a lane that is half idle looks half idle.
import { busyOf, countOf, firstTouching } from './lanes.js';
import { colourOf, inkOn, token } from './charts.js';

export const ROW = 17,
  GUTTER = 210;

const shades = new Map();

// Three shades of the colour of a category, by the name: the same name has the same one in every run.
function shadeOf(category, name) {
  let hash = 7;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  const key = category + (hash % 3);
  if (!shades.has(key)) {
    const hex = colourOf(category),
      part = [0, 0.16, 0.32][hash % 3];
    const mixed = [1, 3, 5]
      .map((at) => parseInt(hex.slice(at, at + 2), 16))
      .map((value) => Math.round(value + (255 - value) * part));
    const fill = `rgb(${mixed.join(' ')})`;
    shades.set(key, { fill, ink: inkOn(fill) });
  }
  return shades.get(key);
}

export function paintOf(names) {
  return names.map(([name, category]) => shadeOf(category || 'other', name || ''));
}

function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step)),
    part = step / power;
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

// Times at which the ruler has a mark.
export function ticksOf(from, to, width) {
  const step = roundStep((to - from) / Math.max(1, width / 110)),
    ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

// Puts what is drawn in one colour together, since to change colours is what costs.
class Brush {
  constructor() {
    this.boxes = new Map();
  }
  add(fill, x, y, width, height) {
    let list = this.boxes.get(fill);
    if (!list) this.boxes.set(fill, (list = []));
    list.push(x, y, width, height);
  }
  paint(pen) {
    for (const [fill, list] of this.boxes) {
      pen.fillStyle = fill;
      for (let i = 0; i < list.length; i += 4) pen.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
    }
  }
}

// matches: by name, 1 where the search finds it, unless the track has `hits`, by event; NULL: no search. Returns how
// many events there are in the window.
export function drawTrack(brush, texts, track, y, view, paint, matches) {
  const { starts, lengths, names } = track,
    perPixel = (view.to - view.from) / view.width;
  const isHit = (i) => !matches || (track.hits ? track.hits[i] : matches[names[i]]);
  let pixel = -1,
    busy = 0,
    most = 0,
    longest = 0,
    count = 0;
  const flush = () => {
    if (pixel < 0) return;
    const share = Math.min(1, busy / perPixel),
      height = Math.max(2, Math.round((ROW - 2) * share));
    const fill = isHit(longest) ? paint[names[longest]].fill : view.faint;
    brush.add(fill, GUTTER + pixel, y + ROW - 1 - height, 1, height);
    pixel = -1;
  };
  for (let i = firstTouching(track, view.from); i < starts.length && starts[i] < view.to; i++) {
    const x = (starts[i] - view.from) / perPixel,
      width = lengths[i] / perPixel,
      cells = countOf(track, i);
    count += cells;
    if (width >= 2) {
      flush();
      const left = Math.max(0, x),
        right = Math.min(view.width, x + width);
      const share = track.busy ? Math.min(1, track.busy[i] / (lengths[i] || 1)) : 1;
      const height = Math.max(2, Math.round((ROW - 2) * share));
      const isFound = isHit(i);
      brush.add(
        isFound ? paint[names[i]].fill : view.faint,
        GUTTER + Math.round(left),
        y + ROW - 1 - height,
        Math.max(1, Math.round(right) - Math.round(left) - (right - left > 4 ? 1 : 0)),
        height,
      );
      if (right - left > 36 && share > 0.6) texts.push(names[i], left, right - left, y, isFound, cells);
      continue;
    }
    const at = Math.max(0, Math.floor(x));
    if (at !== pixel) {
      flush();
      pixel = at;
      busy = most = 0;
    }
    // A match is seen whatever lies beside it in its pixel.
    const length = busyOf(track, i),
      weight = matches && isHit(i) ? length + 1e15 : length;
    busy += length;
    if (weight >= most) {
      most = weight;
      longest = i;
    }
  }
  flush();
  return count;
}

export function drawTracks(pen, rows, view, paint, names, matches) {
  const brush = new Brush(),
    texts = [];
  let count = 0;
  view.faint = token('--line');
  for (const row of rows) {
    if (row.y + ROW < view.top || row.y > view.height || !row.track) continue;
    count += drawTrack(brush, texts, row.track, row.y, view, paint, matches);
  }
  brush.paint(pen);
  pen.font = '11px system-ui';
  pen.textBaseline = 'middle';
  for (let i = 0; i < texts.length; i += 6) {
    const [name, left, width, y, isFound, cells] = texts.slice(i, i + 6);
    const text = (cells > 1 ? `${cells} × ` : '') + (names[name][0] || '–');
    const letters = Math.floor((width - 6) / 6.5);
    if (letters < 3) continue;
    pen.fillStyle = isFound ? paint[name].ink : token('--quiet');
    pen.fillText(text.length > letters ? text.slice(0, letters - 1) + '…' : text, GUTTER + left + 4, y + ROW / 2);
  }
  return count;
}

// How busy all lanes are together over the whole run: a height for each pixel of the strip.
export function densityOf(tracks, start, end, width) {
  const busy = new Float64Array(width),
    perPixel = (end - start) / width;
  for (const track of tracks) {
    for (let i = 0; i < track.starts.length; i++) {
      const from = (track.starts[i] - start) / perPixel,
        to = from + track.lengths[i] / perPixel;
      const share = track.lengths[i] > 0 ? busyOf(track, i) / track.lengths[i] : 0;
      for (let at = Math.floor(from); at <= to && at < width; at++) {
        if (at >= 0) busy[at] += share * Math.max(0, Math.min(to, at + 1) - Math.max(from, at));
      }
    }
  }
  return busy;
}
