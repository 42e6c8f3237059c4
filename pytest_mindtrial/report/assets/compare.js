// Agreement of the selected runs, task by task. Skipped tasks and tasks that only one run has are in no number.

function openCompare() {
  const panel = document.getElementById("compare");
  panel.hidden = false;
  const numbers = [...selectedRuns].sort((a, b) => a - b);
  const verdicts = new Map(numbers.map((number) => [number, new Map()]));
  for (const row of ROWS) if (verdicts.has(row.runNumber)) verdicts.get(row.runNumber).set(row.taskKey, row);
  panel.replaceChildren(
    el("header", {}, el("h2", { tabindex: "-1" }, "Compare selected runs"), el("span", { class: "grow" }),
      button("Close", () => { panel.hidden = true; document.getElementById("compare-button").focus(); })),
    el("div", { class: "body" },
      el("p", { class: "legend" }, "Below the diagonal: both runs ended the same way. Above: differently. Green agreement is on "
        + "passed tasks, red on failed ones; the stronger the colour, the more tasks. Choose a cell to see its tasks."),
      el("div", { class: "scroll" }, compareMatrix(numbers, verdicts))));
  panel.querySelector("h2").focus();
}

function compareMatrix(numbers, verdicts) {
  const heads = new Map();
  const light = (row, column, isLit) => {
    for (const node of [heads.get(`r${row}`), heads.get(`c${column}`)]) node.classList.toggle("lit", isLit);
  };
  const label = (number) => [INDEX.runs[number].provider, el("br"), INDEX.runs[number].run];
  const head = (key, number, scope) => {
    const node = el("th", { scope }, label(number));
    heads.set(key, node);
    return node;
  };
  const cell = (row, column) => (row === column
    ? el("td", {}, ownCell(verdicts.get(row)))
    : el("td", { on: { mouseenter: () => light(row, column, true), mouseleave: () => light(row, column, false) } },
      pairCell(row, column, verdicts)));
  return el("table", { class: "matrix", id: "compare-matrix" },
    el("thead", {}, el("tr", {}, el("td"), numbers.map((number) => head(`c${number}`, number, "col")))),
    el("tbody", {}, numbers.map((row) => el("tr", {}, head(`r${row}`, row, "row"), numbers.map((column) => cell(row, column))))));
}

function ownCell(rows) {
  const counts = aggregate([...rows.values()]), total = rows.size || 1;
  const bar = el("div", { class: "bar" }, KINDS.filter((kind) => counts[kind]).map((kind) => {
    const part = el("i", { class: kind });
    part.style.width = `${(counts[kind] / total) * 100}%`;
    return part;
  }));
  const words = KINDS.filter((kind) => counts[kind]).map((kind) => `${SYMBOLS[kind]} ${counts[kind]} ${kind.toLowerCase()}`);
  return el("div", { class: "own", title: words.join(", ") }, bar, el("span", { class: "sub" }, words.join(" · ")));
}

function pairCell(row, column, verdicts) {
  const pairs = [];
  for (const [key, one] of verdicts.get(row)) {
    const other = verdicts.get(column).get(key);
    if (other && one.kind !== "Skipped" && other.kind !== "Skipped") pairs.push([one, other]);
  }
  const agreeing = pairs.filter(([one, other]) => one.kind === other.kind);
  const isAgreement = numbersBelow(row, column);
  const chosen = isAgreement ? agreeing : pairs.filter(([one, other]) => one.kind !== other.kind);
  const share = pairs.length ? chosen.length / pairs.length : null;
  const word = isAgreement ? "agreement" : "disagreement";
  const node = el("button", {
    type: "button", "data-cell": `${row},${column}`,
    title: `${word}: ${chosen.length} of ${pairs.length} tasks that both runs took`,
    on: { click: () => openPairs(row, column, chosen, pairs.length, word) },
  }, el("b", {}, percent(share)), el("span", {}, `${chosen.length}/${pairs.length} ${isAgreement ? "agree" : "differ"}`));
  const passed = chosen.filter(([one, other]) => one.kind === "Passed" || (!isAgreement && other.kind === "Passed")).length;
  node.style.setProperty("--hue", isAgreement && chosen.length ? Math.round((passed / chosen.length) * 140) : 35);
  node.style.setProperty("--saturation", `${Math.round((share || 0) * 62)}%`);
  return node;
}

const numbersBelow = (row, column) => row > column;

function openPairs(row, column, pairs, total, word) {
  const name = (number) => `${INDEX.runs[number].provider} ${INDEX.runs[number].run}`;
  const groups = new Map();
  for (const [one, other] of pairs) {
    const key = `${one.kind} ${other.kind}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push([one, other]);
  }
  const line = ([one, other]) => el("li", {}, el("span", { class: "grow" }, taskLabel(one)),
    kindLink(one), one.kind === other.kind ? null : kindLink(other));
  openDialog(`${name(row)} and ${name(column)}`, `${word}: ${pairs.length} of ${total} tasks that both runs took`,
    pairs.length ? [...groups.values()].map((group) => [
      el("h3", {}, group[0][0].kind === group[0][1].kind ? `Both ${group[0][0].kind.toLowerCase()} (${group.length})`
        : `${name(row)} ${group[0][0].kind.toLowerCase()}, ${name(column)} ${group[0][1].kind.toLowerCase()} (${group.length})`),
      el("ul", {}, group.map(line)),
    ]) : el("p", { class: "empty" }, "None."));
}

function kindLink(row) {
  return kindMark(row.kind, () => { document.getElementById("dialog").close(); showRow(row); });
}
