// pass@k and pass^k of repeated tasks, and the tasks that pass only sometimes.

const FLAKY_SHOWN = 200;

function renderRepeats() {
  const panel = document.getElementById("repeats");
  panel.hidden = !INDEX.repeats.length;
  if (panel.hidden) return;
  panel.replaceChildren(
    el("header", {}, el("h2", {}, "Repeats"), el("span", { class: "sub grow" },
      "pass@k: at least one of k tries passes; pass^k: all of them do. Means over tasks with the 95 % interval.")),
    el("div", { class: "scroll" }, el("table", { id: "repeats-table" },
      el("thead", {}, el("tr", {}, ["Provider", "Run", "Tasks", "k", "pass@k", "pass^k", "Flaky"].map((label, place) =>
        el("th", { scope: "col", class: place > 1 ? "number" : null }, label)))),
      el("tbody", {}, INDEX.repeats.map(repeatRows)))),
    el("div", { class: "body" }, INDEX.repeats.filter((run) => run.flaky.length).map(flakyList)));
}

function repeatRows(run) {
  return run.any_of.map((any, place) => el("tr", { class: "row" },
    el("td", {}, place ? "" : run.provider), el("td", {}, place ? "" : run.run),
    el("td", { class: "number" }, place ? "" : integer(run.tasks)), el("td", { class: "number" }, integer(place + 1)),
    rateCell(any), rateCell(run.all_of[place]),
    el("td", { class: "number" }, place ? "" : integer(run.flaky.length))));
}

const rateCell = ([share, low, high]) => el("td", { class: "number" }, percent(share), intervalPlot(share, [low, high]),
  el("div", { class: "sub" }, intervalText([low, high])));

function flakyList(run) {
  const more = run.flaky.length - FLAKY_SHOWN;
  return el("details", { class: "flaky" },
    el("summary", {}, `${run.provider} ${run.run}: ${integer(run.flaky.length)} flaky tasks`),
    el("ul", {}, run.flaky.slice(0, FLAKY_SHOWN).map(([task, passed, tries]) => el("li", {},
      linkButton(task, "Show the tries of this task", () => focusResults({ provider: run.provider, run: run.run, search: task })),
      ` ${passed} of ${tries} passed`))),
    more > 0 ? el("p", { class: "sub" }, `and ${integer(more)} more`) : null);
}
