// Filters that the task results and the analysis share.

const escapeRegexp = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

// A list of wildcard patterns (`*`, `?`, commas), or one regular expression; case does not matter.
// Returns {test, problem}: problem is a message for people, and then everything matches.
function textMatcher(pattern, isRegexp) {
  if (!pattern.trim()) return { test: () => true, problem: "" };
  try {
    if (isRegexp) {
      const expression = new RegExp(pattern, "iu");
      return { test: (text) => expression.test(text), problem: "" };
    }
    const parts = pattern.split(",").map((part) => part.trim()).filter(Boolean);
    const whole = parts.map((part) => escapeRegexp(part).replaceAll("\\*", ".*").replaceAll("\\?", "."));
    const expression = new RegExp(`^(?:${whole.join("|")})$`, "isu");
    return { test: (text) => expression.test(text), problem: "" };
  } catch (error) {
    return { test: () => true, problem: `Not a valid pattern: ${error.message}` };
  }
}

const emptyFilter = () => ({
  search: "", task: "", isRegexp: false, provider: "", run: "", kind: "", suite: "", category: "", difficulty: "", tags: new Set(),
});

function matchingRows(rows, filter) {
  const search = textMatcher(filter.search, true), task = textMatcher(filter.task, filter.isRegexp);
  const tags = [...filter.tags];
  const matches = rows.filter((row) =>
    (!filter.provider || row.provider === filter.provider) && (!filter.run || row.runName === filter.run)
    && (!filter.kind || row.kind === filter.kind) && (!filter.suite || row.suite === filter.suite)
    && (!filter.category || row.category === filter.category) && (!filter.difficulty || row.difficulty === filter.difficulty)
    && tags.every((tag) => row.tags.includes(tag)) && task.test(row.task)
    && (search.test(row.provider) || search.test(row.runName) || search.test(row.task)));
  return { matches, problem: [search.problem, task.problem].filter(Boolean).join(" · ") };
}

// The controls of one filter object; `onChange` is called after every change.
function filterControls(filter, onChange, { withRuns }) {
  const set = (key) => (value) => { filter[key] = value; onChange(); };
  const choice = (label, key, values) => values.length
    ? field(label, select([["", "any"], ...values.map((value) => [value, value])], filter[key], set(key), { "data-filter": key }))
    : null;
  const text = (label, key, placeholder, title) => {
    const input = el("input", { type: "search", placeholder, title, "data-filter": key, on: { input: () => set(key)(input.value) } });
    input.value = filter[key];
    return field(label, input);
  };
  const tags = distinct((row) => row.tags);
  return [
    withRuns ? text("Search", "search", "provider, run or task", "Regular expression over provider, run and task") : null,
    withRuns ? choice("Provider", "provider", distinct((row) => [row.provider])) : null,
    withRuns ? choice("Run", "run", distinct((row) => [row.runName])) : null,
    text("Task", "task", "name*, other?", "Wildcards * and ?, several separated by commas; or one regular expression"),
    checkbox("regexp", filter.isRegexp, set("isRegexp"), { "data-filter": "isRegexp" }),
    choice("Status", "kind", KINDS),
    choice("Suite", "suite", distinct((row) => [row.suite])),
    choice("Category", "category", distinct((row) => [row.category])),
    choice("Difficulty", "difficulty", distinct((row) => [row.difficulty])),
    tags.length ? el("details", { class: "menu" },
      el("summary", { class: "button" }, filter.tags.size ? `Tags (${filter.tags.size})` : "Tags"),
      el("div", {}, tags.map((tag) => checkbox(tag, filter.tags.has(tag), (checked) => {
        if (checked) filter.tags.add(tag); else filter.tags.delete(tag);
        onChange();
      })))) : null,
  ];
}
