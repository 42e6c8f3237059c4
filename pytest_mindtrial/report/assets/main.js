// Puts the page together.

function renderReport() {
  const main = document.getElementById("report");
  main.replaceChildren(
    el("div", {}, renderHead()),
    el("section", { class: "panel", id: "summary", "aria-label": "Summary" }),
    el("section", { class: "panel", id: "repeats", "aria-label": "Repeats", hidden: true }),
    el("section", { class: "panel", id: "compare", "aria-label": "Comparison", hidden: true }),
    el("section", { class: "panel", id: "analysis", "aria-label": "Analysis", hidden: true }),
    el("section", { class: "panel", id: "results", "aria-label": "Task results" }),
    el("footer", {}, `${EVALUATION.app_name} ${EVALUATION.app_version}`, EVALUATION.created_at ? ` · ${EVALUATION.created_at}` : "",
      INDEX.cut ? ` · ${INDEX.cut}` : ""));
  renderSummary();
  renderRepeats();
  renderResults();
  // The browser's own jump to the fragment comes with the load event and takes the focus away.
  window.addEventListener("load", () => setTimeout(followLink));
  window.addEventListener("hashchange", followLink);
}

renderReport();
