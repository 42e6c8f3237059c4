// The table of task results: filters, order, pages, deep links.

const resultsFilter = emptyFilter();
const openRows = new Set();
let resultsOrder = { key: "", ascending: true };
let page = 0;
let pageSize = 50;
let visible = ROWS;

const RESULT_COLUMNS = [
  { key: "provider", label: "Provider", value: (row) => row.provider,
    show: (row) => linkButton(row.provider, "Show only this provider", () => narrow({ provider: row.provider })) },
  { key: "run", label: "Run", value: (row) => row.runName, show: (row) => [
    linkButton(row.runName, "Show only this run", () => narrow({ run: row.runName })),
    row.run.is_mock ? el("span", { class: "badge warn" }, "mock") : null] },
  { key: "task", label: "Task", value: (row) => row.task, show: (row) => [
    linkButton(row.task, "Show only this task", () => narrow({ task: `^${escapeRegexp(row.task)}$`, isRegexp: true })),
    row.repeat === null ? null : el("span", { class: "badge" }, `repeat ${row.repeat}`),
    row.toolCalls ? el("span", { class: "badge", title: `Tools used: ${toolNames(row)}` }, `${row.toolCalls} tool ${row.toolCalls === 1 ? "call" : "calls"}`) : null] },
  { key: "status", label: "Status", value: (row) => KINDS.indexOf(row.kind), show: (row) => kindMark(row.kind, () => narrow({ kind: row.kind })) },
  { key: "duration", label: "Time", number: true, title: "Model time: no waiting, no tools, no validation", value: (row) => row.duration,
    show: (row) => duration(row.duration) },
  { key: "answer", label: "Answer", plain: true, show: answerCell },
  { key: "details", label: "Details", plain: true, show: detailsButtons },
];

function toolNames(row) {
  const body = bodyOf(row);
  return [...new Set([body.answer, body.error].flatMap((part) => Object.keys((part && part.tool_usage) || {})))].join(", ");
}

function answerCell(row) {
  const body = bodyOf(row);
  const method = body.validation && body.validation.method;
  if (row.kind !== "Failed" || method === "custom" || method === "schema" || !body.want.length) {
    const reason = row.kind === "Failed" && method === "schema" ? body.validation.explanation : "";
    return [body.got === null ? el("span", { class: "muted" }, "no answer") : el("pre", {}, cut(body.got)), reason ? paragraph(reason) : null]
      .map((node) => node && el("div", { class: "text" }, node));
  }
  const diffs = body.want.map((want) => diffNode(cut(want), cut(body.got ?? "")));
  return diffs.length === 1 ? diffs : el("ol", { class: "alternatives" }, diffs.map((diff) => el("li", {}, diff)));
}

const cut = (text) => (text.length > 6000 ? `${text.slice(0, 6000)}\n… (${integer(text.length - 6000)} more characters in the details)` : text);

function detailsButtons(row) {
  const isOpen = openRows.has(row.number);
  const toggle = button(isOpen ? "Hide" : "Show", () => {
    if (isOpen) openRows.delete(row.number); else openRows.add(row.number);
    replaceRow(row);
  }, { "aria-expanded": isOpen ? "true" : "false", "aria-controls": `${row.id}-details`, "aria-label": `${isOpen ? "Hide" : "Show"} details of ${row.task}` });
  const copy = button("Copy id", () => copyText(bodyOf(row).trace_id, copy), { title: "Copy the trace id" });
  const link = el("a", { class: "sub", href: `#${row.id}`, title: "Link to this result" }, "#");
  return el("div", { class: "legend" }, toggle, copy, link);
}

function resultRow(row) {
  return el("tr", { class: "row", id: row.id, itemscope: true, itemtype: "https://schema.org/Review" }, RESULT_COLUMNS.map((column) =>
    el("td", { class: column.number ? "number" : column.key, "data-label": column.label }, column.show(row))));
}

function replaceRow(row) {
  const old = document.getElementById(row.id), details = document.getElementById(`${row.id}-details`);
  const fresh = resultRow(row);
  if (details) details.remove();
  old.replaceWith(fresh);
  if (openRows.has(row.number)) fresh.after(detailsRow(row, RESULT_COLUMNS.length));
  fresh.querySelector("[aria-expanded]").focus();
}

function narrow(changes) {
  Object.assign(resultsFilter, changes);
  page = 0;
  renderResults();
}

function focusResults(changes) {
  narrow({ ...emptyFilter(), ...changes });
  document.getElementById("results").scrollIntoView();
}

function renderResults() {
  const panel = document.getElementById("results");
  const note = el("span", { class: "sub grow", role: "status", id: "visible" });
  const problem = el("p", { class: "problem", role: "alert" });
  panel.replaceChildren(
    el("header", {}, el("h2", {}, "Task results"), note,
      button("Clear filters", () => { Object.assign(resultsFilter, emptyFilter()); page = 0; renderResults(); }, { id: "clear" })),
    el("div", { class: "body" },
      el("div", { class: "filters" }, filterControls(resultsFilter, () => { page = 0; refreshResults(); }, { withRuns: true }), problem),
      el("p", { class: "legend" }, el("span", {}, "In wrong answers: ", el("del", {}, "missing from the answer"), " ", el("ins", {}, "only in the answer")))),
    el("div", { class: "scroll", id: "results-body" }), el("div", { class: "pager", id: "pager" }));
  refreshResults();
}

function refreshResults() {
  const { matches, problem } = matchingRows(ROWS, resultsFilter);
  const column = RESULT_COLUMNS.find((item) => item.key === resultsOrder.key);
  visible = column ? sorted(matches, column.value, resultsOrder.ascending) : matches;
  document.querySelector("#results .problem").textContent = problem;
  document.getElementById("visible").textContent = `${integer(visible.length)} visible of ${integer(ROWS.length)}`;
  page = Math.max(0, Math.min(page, Math.ceil(visible.length / pageSize) - 1));
  const shown = visible.slice(page * pageSize, (page + 1) * pageSize);
  const table = el("table", { id: "results-table" },
    tableHead(RESULT_COLUMNS, resultsOrder, (key) => { resultsOrder = nextOrder(resultsOrder, key); page = 0; refreshResults(); }),
    el("tbody", {}, shown.map((row) => [resultRow(row), openRows.has(row.number) ? detailsRow(row, RESULT_COLUMNS.length) : null])));
  document.getElementById("results-body").replaceChildren(
    shown.length ? table : el("p", { class: "empty" }, ROWS.length ? "No result passes these filters." : "No results."));
  renderPager();
}

function renderPager() {
  const pages = Math.max(1, Math.ceil(visible.length / pageSize));
  const go = (target) => () => { page = target; refreshResults(); document.getElementById("results").scrollIntoView(); };
  document.getElementById("pager").replaceChildren(
    button("Previous", go(page - 1), { disabled: page === 0 }), el("span", {}, `Page ${page + 1} of ${integer(pages)}`),
    button("Next", go(page + 1), { disabled: page + 1 >= pages, id: "next-page" }), el("span", { class: "grow" }),
    field("Rows per page", select([50, 100, 250, 1000].map((size) => [size, size]), pageSize, (value) => { pageSize = Number(value); page = 0; refreshResults(); })));
}

// Shows a row wherever it is: clears the filters that hide it, turns to its page, opens its details.
function showRow(row) {
  if (!visible.includes(row)) { Object.assign(resultsFilter, emptyFilter()); renderResults(); }
  page = Math.floor(visible.indexOf(row) / pageSize);
  openRows.add(row.number);
  refreshResults();
  const node = document.getElementById(row.id);
  node.classList.add("flash");
  node.scrollIntoView({ block: "start" });
  node.querySelector("[aria-expanded]").focus({ preventScroll: true });
}

function followLink() {
  let id = location.hash.slice(1);
  try { id = decodeURIComponent(id); } catch { /* A broken escape names no row. */ }
  const row = ROWS.find((item) => item.id === id);
  if (row) showRow(row);
}
