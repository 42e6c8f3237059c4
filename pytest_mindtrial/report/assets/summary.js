// Head of the report and the summary table.

const selectedRuns = new Set();

function renderHead() {
  const fact = (label, value) => (value ? el("div", {}, el("dt", {}, label), el("dd", {}, value)) : null);
  const reported = ROWS.length;
  return [
    el("h1", {}, "Evaluation report"),
    el("dl", { class: "facts" },
      fact("Started", EVALUATION.created_at), fact("Suite", EVALUATION.suites.join(", ")), fact("Configuration", EVALUATION.config),
      fact("Seed", EVALUATION.seed && el("span", { class: "mono" }, EVALUATION.seed)),
      fact("Results", EVALUATION.expected === null ? integer(reported) : `${integer(reported)} of ${integer(EVALUATION.expected)}`),
      fact("Concurrency", EVALUATION.concurrency === null ? "" : `${EVALUATION.concurrency} per provider`)),
    INDEX.spending.length ? el("ul", { class: "sub", id: "spending" }, INDEX.spending.map((note) => el("li", {}, sentence(note)))) : null,
    EVALUATION.is_complete ? null : el("p", { class: "banner", role: "status", id: "incomplete" },
      el("strong", {}, "Incomplete. "),
      `${sentence(EVALUATION.incomplete_reason || "the session ended early")}. `,
      EVALUATION.expected === null ? "" : `${integer(reported)} of ${integer(EVALUATION.expected)} results were reported; `
        + "every number below stands for those only."),
    INDEX.runs.some((run) => run.is_mock) ? el("p", { class: "banner", role: "status", id: "mock" },
      el("strong", {}, "Mock answers. "), "Runs marked “mock” were answered by a script, not by a model.") : null,
    renderTiles(),
  ];
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function renderTiles() {
  const all = aggregate(ROWS);
  const tile = (value, label, kind) => el("div", { class: "tile" }, el("b", { class: kind ? `count ${kind}` : null }, value),
    el("span", {}, kind ? [el("span", { "aria-hidden": "true" }, `${SYMBOLS[kind]} `), label] : label));
  return el("div", { class: "tiles" },
    KINDS.map((kind) => tile(integer(all[kind]), kind.toLowerCase(), kind)),
    tile(percent(all.passRate), all.interval ? `pass rate, 95 %: ${intervalText(all.interval)}` : "pass rate"),
    tile(money(all.cost, all.currency), "candidate cost"));
}

const countCell = (kind) => (run) =>
  el("span", { class: run[kind] ? `count ${kind}` : "zero" }, integer(run[kind]));

const SUMMARY_COLUMNS = [
  { key: "select", plain: true, label: "", head: selectAllBox },
  { key: "provider", label: "Provider", value: (run) => run.provider,
    show: (run) => linkButton(run.provider, "Show only this provider", () => focusResults({ provider: run.provider })) },
  { key: "run", label: "Run", value: (run) => run.run, show: (run) => [
    linkButton(run.run, "Show only this run", () => focusResults({ provider: run.provider, run: run.run })),
    run.is_mock ? el("span", { class: "badge warn" }, "mock") : null,
    run.model && run.model !== run.run ? el("div", { class: "sub" }, run.model) : null] },
  ...KINDS.map((kind) => ({ key: kind, label: kind, number: true, value: (run) => run[kind], show: countCell(kind) })),
  { key: "pass", label: "Pass rate", number: true, title: "Passed of passed, failed and error, with the 95 % interval", value: (run) => run.passRate,
    show: (run) => [percent(run.passRate), intervalPlot(run.passRate, run.interval),
      el("div", { class: "sub", title: "95 % Wilson score interval in percent, and the number of results it rests on" },
        run.interval ? `${intervalText(run.interval)} · n ${integer(run.count)}` : "n 0")] },
  { key: "accuracy", label: "Accuracy", number: true, title: "Passed of passed and failed", value: (run) => run.accuracy,
    show: (run) => percent(run.accuracy) },
  { key: "errors", label: "Error rate", number: true, title: "Errors of passed, failed and error", value: (run) => run.errorRate,
    show: (run) => percent(run.errorRate) },
  { key: "time", label: "p50 / p95", number: true, title: "Model time of an attempt: half of them, and 95 % of them, took no longer",
    value: (run) => run.p50_ns, show: (run) => (run.p50_ns === null ? UNKNOWN : `${duration(run.p50_ns)} / ${duration(run.p95_ns)}`) },
  { key: "total", label: "Total time", number: true, title: "Model time of all results", value: (run) => run.total_ns,
    show: (run) => duration(run.total_ns) },
  { key: "tokens", label: "Tokens in / out", number: true, value: (run) => run.input_tokens,
    title: "Candidate tokens: input with cache, output with reasoning; judges excluded",
    show: (run) => `${integer(run.input_tokens)} / ${integer(run.output_tokens)}` },
  { key: "cost", label: "Cost", number: true, title: "Candidate cost; a dash where it is unknown", value: (run) => run.cost,
    show: (run) => money(run.cost, run.currency) },
  { key: "judges", only: (run) => run.judge_cost !== null, label: "Judges", number: true, title: "Judges' cost; a dash where unknown or none ran", value: (run) => run.judge_cost,
    show: (run) => money(run.judge_cost, run.judge_currency) },
  { key: "retries", only: (run) => run.retries, label: "Retries", number: true, title: "Requests that were repeated", value: (run) => run.retries,
    show: (run) => el("span", { class: run.retries ? null : "zero" }, integer(run.retries)) },
].filter((column) => !column.only || INDEX.runs.some(column.only));

let summaryOrder = { key: "", ascending: true };

function selectAllBox() {
  const box = el("input", { type: "checkbox", "aria-label": "Select all runs", id: "select-all", on: { change: () => {
    INDEX.runs.forEach((run, number) => (box.checked ? selectedRuns.add(number) : selectedRuns.delete(number)));
    renderSummary();
  } } });
  box.checked = selectedRuns.size === INDEX.runs.length && INDEX.runs.length > 0;
  box.indeterminate = selectedRuns.size > 0 && !box.checked;
  return box;
}

function runBox(run) {
  const box = el("input", { type: "checkbox", "aria-label": `Select ${run.provider} ${run.run}`, on: { change: () => {
    if (box.checked) selectedRuns.add(run.number); else selectedRuns.delete(run.number);
    renderSummary();
  } } });
  box.checked = selectedRuns.has(run.number);
  return box;
}

function renderSummary() {
  const column = SUMMARY_COLUMNS.find((item) => item.key === summaryOrder.key);
  const runs = column ? sorted(INDEX.runs, column.value, summaryOrder.ascending) : INDEX.runs;
  const table = el("table", { id: "summary-table" },
    tableHead(SUMMARY_COLUMNS, summaryOrder, (key) => { summaryOrder = nextOrder(summaryOrder, key); renderSummary(); }),
    el("tbody", {}, runs.map((run) => el("tr", { class: "row" }, SUMMARY_COLUMNS.map((item) =>
      el("td", { class: item.number ? "number" : item.key }, item.key === "select" ? runBox(run) : item.show(run)))))));
  const note = selectedRuns.size ? `${selectedRuns.size} of ${INDEX.runs.length} selected` : "Select runs to compare or analyze them";
  document.getElementById("summary").replaceChildren(
    el("header", {}, el("h2", {}, "Summary"), el("span", { class: "sub grow", role: "status" }, note),
      button("Compare selected runs", openCompare, { id: "compare-button", disabled: selectedRuns.size < 2 }),
      button("Analyze selected runs", openAnalysis, { id: "analyze-button", disabled: selectedRuns.size < 1 })),
    el("div", { class: "scroll" }, ROWS.length || INDEX.runs.length ? table : el("p", { class: "empty" }, "No results.")));
  refreshAnalysis();
}
