// pass@k and pass^k of repeated tasks, and the tasks that pass only sometimes.

const FLAKY_SHOWN = 200;
const RUNS_IN_FULL = 4;

function renderRepeats() {
  const panel = document.getElementById("repeats");
  panel.hidden = !INDEX.repeats.length;
  if (panel.hidden) return;
  const chosen = INDEX.repeats.map((run) => chosenTries(run.any_of.length));
  panel.replaceChildren(
    el("header", {}, el("h2", {}, "Repeats"), el("span", { class: "sub grow" },
      "pass@k: at least one of k tries passes; pass^k: all of them do. Means over tasks with the 95 % interval.")),
    el("div", { class: "scroll" }, el("table", { id: "repeats-table", class: "rates" },
      ratesHead(["Provider", "Run", "Tasks", "k", "pass@k", "pass^k", "Flaky"], 2),
      el("tbody", {}, INDEX.repeats.map((run, number) => chosen[number].map((k, place) => repeatRow(run, k, !place)))))),
    el("div", { class: "body" }, INDEX.repeats.map((run, number) => [
      chosen[number].length < run.any_of.length ? everyK(run) : null, run.flaky.length ? flakyList(run) : null])));
}

// 1, 2, 3, 5, 10, 20, 50 … and the last; of many runs only the first and the last, so that results stay in sight.
function chosenTries(last) {
  const steps = INDEX.repeats.length > RUNS_IN_FULL ? [1] : [1, 2, 3];
  for (let ten = 10; steps.length > 1 && ten / 2 < last; ten *= 10) steps.push(ten / 2, ten, ten * 2);
  return [...new Set([...steps.filter((k) => k < last), last])];
}

const ratesHead = (labels, firstNumber) => el("thead", {}, el("tr", {}, labels.map((label, place) =>
  el("th", { scope: "col", class: place >= firstNumber ? "number" : null }, label))));

function repeatRow(run, k, isFirst) {
  return el("tr", { class: "row" },
    el("td", {}, isFirst ? run.provider : ""), el("td", {}, isFirst ? run.run : ""),
    el("td", { class: "number" }, isFirst ? integer(run.tasks) : ""), ratesOf(run, k),
    el("td", { class: "number" }, isFirst ? integer(run.flaky.length) : ""));
}

const ratesOf = (run, k) => [
  el("td", { class: "number" }, integer(k)), rateCell(run.any_of[k - 1]), rateCell(run.all_of[k - 1])];

const rateCell = ([share, low, high]) => el("td", { class: "number" }, percent(share), intervalPlot(share, [low, high]),
  el("span", { class: "sub" }, intervalText([low, high])));

// The table is built when it is opened: there may be a thousand rows of each run.
function everyK(run) {
  const list = el("details", { class: "every-k", on: { toggle: () => {
    if (list.open && !list.querySelector("table")) {
      list.append(el("div", { class: "scroll" }, el("table", { class: "small rates" }, ratesHead(["k", "pass@k", "pass^k"], 0),
        el("tbody", {}, run.any_of.map((_, place) => el("tr", {}, ratesOf(run, place + 1)))))));
    }
  } } }, el("summary", {}, `${run.provider} ${run.run}: every k from 1 to ${integer(run.any_of.length)}`));
  return list;
}

function flakyList(run) {
  const unseen = run.flaky.length - FLAKY_SHOWN;
  return el("details", { class: "flaky" },
    el("summary", {}, `${run.provider} ${run.run}: ${integer(run.flaky.length)} flaky task${run.flaky.length === 1 ? "" : "s"}`),
    el("ul", {}, run.flaky.slice(0, FLAKY_SHOWN).map(([task, passed, tries]) => el("li", {},
      linkButton(task, "Show the tries of this task", () => focusResults({ provider: run.provider, run: run.run, search: task })),
      `: ${passed} of ${tries} passed`))),
    unseen > 0 ? el("p", { class: "sub" }, `and ${integer(unseen)} more`) : null);
}
