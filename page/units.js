// units.js: numbers for people: three digits with their unit, as format_ns() and the shell write them.  The unit
// follows from the name of a column; the exact value stands in the tooltip and in what is downloaded.

function scaled(number, step, units) {
  let size = Math.abs(number),
    unit = 0;
  const limit = step === 1000 ? 999.5 : 1023.5;
  while (size >= limit && unit + 1 < units.length) {
    size /= step;
    number /= step;
    unit++;
  }
  const digits = unit > 0 || size !== Math.floor(size) ? (size < 9.995 ? 2 : size < 99.95 ? 1 : 0) : 0;
  return number.toFixed(digits) + (units[unit] ? '\u202f' + units[unit] : '');
}

export const formatNs = (ns) => scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
// A moment so that it differs from one that is `step` away.
export function formatMoment(ns, step) {
  const power = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(Math.abs(ns), step, 1)) / 3)));
  const digits = Math.max(0, Math.ceil(3 * power - Math.log10(step)));
  return (ns / 1000 ** power).toFixed(Math.min(9, digits)) + '\u202f' + ['ns', 'µs', 'ms', 's'][power];
}

export const formatBytes = (bytes) => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
export const formatCount = (count) => scaled(count, 1000, ['', 'k', 'M', 'G', 'T']);
export const formatRatio = (ratio) =>
  (100 * ratio).toFixed(Math.abs(ratio) >= 0.0995 || ratio === 0 ? 0 : 1) + '\u202f%';

// What a column holds: ns, bytes, ratio, rate (bytes a second), ms, id, flag (0 or 1) or plain.
export function unitOf(column) {
  if (/_ns$|_ns_/.test(column)) return 'ns';
  if (/(^|_)bytes_per_second$/.test(column)) return 'rate';
  if (/(^|_)bytes$/.test(column)) return 'bytes';
  if (/(^|_)ratio$/.test(column)) return 'ratio';
  if (column.endsWith('_ms')) return 'ms';
  if (
    column === 'id' ||
    /_id$|^(collective_)?number$|^(rank|pid|tid|stream|line|offset|cell|iterator|address)$/.test(column)
  )
    return 'id';
  if (/^(is|has|uses)_|_eligible$|^complete$/.test(column)) return 'flag';
  return 'plain';
}

export function formatUnit(value, unit) {
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'number') return String(value);
  switch (unit) {
    case 'ns':
      return formatNs(value);
    case 'ms':
      return formatNs(value * 1e6);
    case 'bytes':
      return formatBytes(value);
    case 'rate':
      return formatBytes(value) + '/s';
    case 'ratio':
      return formatRatio(value);
    case 'id':
      return String(value);
    case 'flag':
      return value === 1 ? 'yes' : value === 0 ? 'no' : String(value);
    default:
      return Number.isInteger(value) && Math.abs(value) < 1e5 ? value.toLocaleString('en') : formatCount(value);
  }
}

// Ticks of an axis, times with as many decimals as tell them apart.
export function formatTicks(ticks, unit) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 0;
  return ticks.map((tick) => {
    if (tick === 0 && unit !== 'plain') return '0';
    if (unit !== 'ns' || !(step > 0)) return formatUnit(tick, unit);
    const power = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.abs(tick)) / 3 + 1e-9))),
      part = step / 1000 ** power;
    let digits = 0;
    while (digits < 9 && Math.abs(part * 10 ** digits - Math.round(part * 10 ** digits)) > 1e-6) digits++;
    return (tick / 1000 ** power).toFixed(digits) + '\u202f' + ['ns', 'µs', 'ms', 's'][power];
  });
}

// A column's name as people read it.
export function titleOf(column) {
  const words = column
    .replace(/_(ns|ms)$/, '')
    .replace(/_ratio$/, ' %')
    .replace(/_/g, ' ');
  return words
    .replace(/\bpid\b/, 'process')
    .replace(/^at$/, 'time')
    .replace(/^is /, '');
}
