// Numbers as text, and the statistics that change with the filters. Unknown is null and shows as a dash, never as 0.

const UNKNOWN = "—";

const known = (value, show) => (value === null || value === undefined ? UNKNOWN : show(value));

function duration(ns) {
  return known(ns, (value) => {
    if (value < 999.5e6) return `${Math.round(value / 1e6)} ms`;
    if (value < 59.95e9) return `${(value / 1e9).toFixed(1)} s`;
    const seconds = Math.round(value / 1e9);
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    return parts[0] ? `${parts[0]} h ${parts[1]} min` : `${parts[1]} min ${parts[2]} s`;
  });
}

const integer = (value) => known(value, (number) => Math.round(number).toLocaleString("en"));
const percent = (share) => known(share, (value) => `${(value * 100).toFixed(1)} %`);
const money = (amount, currency) =>
  known(amount, (value) => `${value.toFixed(value >= 1 || value === 0 ? 2 : 4)} ${currency}`.trim());

function wilson(successes, trials) {
  if (!trials) return null;
  const z2 = 1.959963984540054 ** 2, share = successes / trials;
  const centre = (share + z2 / (2 * trials)) / (1 + z2 / trials);
  const half = Math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials * trials))) / (1 + z2 / trials);
  return [successes ? Math.max(0, centre - half) : 0, successes === trials ? 1 : Math.min(1, centre + half)];
}

const intervalText = (interval) =>
  known(interval, ([low, high]) => `${(low * 100).toFixed(1)} – ${(high * 100).toFixed(1)}`);

function intervalPlot(share, interval) {
  if (!interval) return null;
  const x = (value) => 4 + value * 88;
  return svg("svg", { class: "interval", viewBox: "0 0 96 14", "aria-hidden": "true" },
    svg("line", { class: "axis", x1: 4, x2: 92, y1: 7, y2: 7 }),
    svg("line", { class: "range", x1: x(interval[0]), x2: x(interval[1]), y1: 7, y2: 7 }),
    svg("circle", { class: "dot", cx: x(share), cy: 7, r: 3.5 }));
}

// Sum of what was reported; median and population deviation need two samples.
function spread(values) {
  const reported = values.filter((value) => value !== null);
  const sum = reported.reduce((total, value) => total + value, 0);
  if (!reported.length) return { sum: null, median: null, deviation: null };
  if (reported.length < 2) return { sum, median: null, deviation: null };
  const order = [...reported].sort((a, b) => a - b), middle = order.length >> 1, mean = sum / order.length;
  return {
    sum,
    median: order.length % 2 ? order[middle] : (order[middle - 1] + order[middle]) / 2,
    deviation: Math.sqrt(order.reduce((total, value) => total + (value - mean) ** 2, 0) / order.length),
  };
}

// Skipped results count as skipped and are in nothing else.
function aggregate(rows) {
  const counts = { Passed: 0, Failed: 0, Error: 0, Skipped: 0 };
  for (const row of rows) counts[row.kind] += 1;
  const attempted = rows.filter((row) => row.kind !== "Skipped");
  const decided = counts.Passed + counts.Failed, count = attempted.length;
  const currencies = new Set(attempted.filter((row) => row.cost !== null).map((row) => row.currency));
  const costKnown = currencies.size === 1 && !attempted.some((row) => row.costUnknown);
  return {
    ...counts, count, decided,
    passRate: count ? counts.Passed / count : null,
    accuracy: decided ? counts.Passed / decided : null,
    errorRate: count ? counts.Error / count : null,
    interval: wilson(counts.Passed, count),
    duration: spread(attempted.map((row) => row.duration)),
    input: spread(attempted.map((row) => row.input)),
    output: spread(attempted.map((row) => row.output)),
    tools: spread(attempted.map((row) => row.toolCalls)),
    cost: costKnown ? attempted.reduce((total, row) => total + (row.cost || 0), 0) : null,
    currency: costKnown ? [...currencies][0] : "",
  };
}
