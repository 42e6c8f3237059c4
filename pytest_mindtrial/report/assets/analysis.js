// Live statistics of the selected runs over the tasks that pass the panel's own filters.

const analysisFilter = emptyFilter();
let analysisOrder = { key: "provider", ascending: true };
let showsRemaining = false;

const trio = (key, label, pick, show, title) => [
  { key: `${key}-sum`, label: `Σ ${label}`, value: (group) => pick(group).sum, text: show, title: `Sum of ${title}` },
  { key: `${key}-median`, label: `Median ${label}`, value: (group) => pick(group).median, text: show, title: `Median of ${title}; two or more values` },
  { key: `${key}-deviation`, label: `σ ${label}`, value: (group) => pick(group).deviation, text: show, title: `Population standard deviation of ${title}; two or more values` },
].map((column) => ({ ...column, number: true }));

const ANALYSIS_COLUMNS = [
  { key: "provider", label: "Provider", value: (group) => group.provider, text: (value) => value },
  { key: "run", label: "Run", value: (group) => group.run, text: (value) => value },
  { key: "count", label: "Count", number: true, value: (group) => group.count, text: integer, title: "Passed, failed and error" },
  ...KINDS.map((kind) => ({ key: kind, label: kind, number: true, value: (group) => group[kind], text: integer })),
  { key: "pass", label: "Pass rate", number: true, value: (group) => group.passRate, text: percent },
  { key: "interval", label: "95 % interval", number: true, value: (group) => (group.interval ? group.interval[0] : null),
    text: (value, group) => intervalText(group.interval), title: "Wilson score interval of the pass rate" },
  { key: "accuracy", label: "Accuracy", number: true, value: (group) => group.accuracy, text: percent },
  { key: "error", label: "Error rate", number: true, value: (group) => group.errorRate, text: percent },
  ...trio("duration", "time", (group) => group.duration, duration, "model time"),
  ...trio("input", "tokens in", (group) => group.input, integer, "input tokens"),
  ...trio("output", "tokens out", (group) => group.output, integer, "output tokens"),
  ...trio("tools", "tool calls", (group) => group.tools, integer, "tool calls"),
  { key: "cost", label: "Cost", number: true, value: (group) => group.cost, text: (value, group) => money(value, group.currency) },
];

const hiddenColumns = new Set(["tools-sum", "tools-median", "tools-deviation", "input-deviation", "output-deviation"]);

function openAnalysis() {
  const panel = document.getElementById("analysis");
  panel.hidden = false;
  const problem = el("p", { class: "problem", role: "alert" });
  panel.replaceChildren(
    el("header", {}, el("h2", { tabindex: "-1" }, "Analyze selected runs"), el("span", { class: "sub grow", role: "status", id: "analysis-note" }),
      button("Close", () => { panel.hidden = true; document.getElementById("analyze-button").focus(); })),
    el("div", { class: "body" },
      el("div", { class: "filters" }, filterControls(analysisFilter, refreshAnalysis, { withRuns: false }),
        columnChooser(), checkbox("Show remaining tasks", showsRemaining, (checked) => { showsRemaining = checked; refreshAnalysis(); },
          { id: "show-remaining" }), problem)),
    el("div", { class: "scroll", id: "analysis-tables" }));
  refreshAnalysis();
  panel.querySelector("h2").focus();
}

function columnChooser() {
  const boxes = () => ANALYSIS_COLUMNS.map((column) => checkbox(column.label, !hiddenColumns.has(column.key), (checked) => {
    if (checked) hiddenColumns.delete(column.key); else hiddenColumns.add(column.key);
    refreshAnalysis();
  }));
  const list = el("div", {}, boxes());
  const all = (isShown) => button(isShown ? "All" : "None", () => {
    for (const column of ANALYSIS_COLUMNS) if (isShown) hiddenColumns.delete(column.key); else hiddenColumns.add(column.key);
    list.replaceChildren(...boxes());
    refreshAnalysis();
  });
  return el("details", { class: "menu", id: "columns" }, el("summary", { class: "button" }, "Columns"),
    el("div", {}, el("div", { class: "check" }, all(true), all(false)), list));
}

function refreshAnalysis() {
  const panel = document.getElementById("analysis");
  if (panel.hidden || !panel.firstChild) return;
  const rows = ROWS.filter((row) => selectedRuns.has(row.runNumber));
  const { matches, problem } = matchingRows(rows, analysisFilter);
  panel.querySelector(".problem").textContent = problem;
  document.getElementById("analysis-note").textContent = `${integer(matches.length)} of ${integer(rows.length)} results`;
  const tables = [analysisTable(matches, "analysis-table")];
  if (showsRemaining) {
    const chosen = new Set(matches);
    tables.push(el("h3", { class: "body" }, "Remaining tasks"), analysisTable(rows.filter((row) => !chosen.has(row)), "remaining-table"));
  }
  document.getElementById("analysis-tables").replaceChildren(...tables);
}

function analysisTable(rows, id) {
  const byRun = new Map([...selectedRuns].sort((a, b) => a - b).map((number) => [number, []]));
  for (const row of rows) byRun.get(row.runNumber).push(row);
  const groups = [...byRun].map(([number, members]) =>
    ({ provider: INDEX.runs[number].provider, run: INDEX.runs[number].run, ...aggregate(members) }));
  const columns = ANALYSIS_COLUMNS.filter((column) => !hiddenColumns.has(column.key));
  const order = columns.find((column) => column.key === analysisOrder.key);
  const shown = order ? sorted(groups, order.value, analysisOrder.ascending) : groups;
  return el("table", { id }, tableHead(columns, analysisOrder, (key) => { analysisOrder = nextOrder(analysisOrder, key); refreshAnalysis(); }),
    el("tbody", {}, shown.map((group) => el("tr", { class: "row" }, columns.map((column) => {
      const value = column.value(group);
      return el("td", { class: column.number ? "number" : column.key }, value === null ? UNKNOWN : column.text(value, group));
    })))));
}
