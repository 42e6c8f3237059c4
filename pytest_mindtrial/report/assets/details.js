// Everything that is known of one result, built when its row is opened.

const paragraph = (text) => (text ? el("p", { class: "text" }, text) : null);
const block = (text, kind) => el("div", { class: "box" }, el("pre", { class: kind || null }, text));
const titled = (title, ...content) => (content.flat(Infinity).some(Boolean) ? [el("h3", {}, title), content] : null);

function smallTable(heads, rows) {
  return el("div", { class: "scroll" }, el("table", { class: "small" },
    heads ? el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))) : null,
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell ?? UNKNOWN)))))));
}

const USAGE = [["input_tokens", "Input"], ["cache_write_tokens", "Cache write"], ["cache_read_tokens", "Cache read"],
  ["output_tokens", "Output"], ["reasoning_tokens", "Reasoning"]];

function usageTable(usage) {
  const present = usage ? USAGE.filter(([key]) => usage[key] !== undefined) : [];
  if (!present.length) return null;
  const modes = [usage.input_accounting, usage.output_accounting].filter(Boolean).map((mode) => mode.replaceAll("_", " "));
  return [smallTable(present.map(([, label]) => label), [present.map(([key]) => integer(usage[key]))]),
    modes.length ? el("p", { class: "sub" }, modes.join("; ")) : null];
}

const toolUsageTable = (usage) => (usage && Object.keys(usage).length
  ? smallTable(["Tool", "Calls", "Time"], Object.entries(usage).map(([tool, totals]) =>
    [tool, integer(totals.call_count ?? 0), duration(totals.total_duration_ns ?? 0)])) : null);

const toolCallsTable = (calls) => (calls && calls.length
  ? smallTable(["Turn", "Tool", "Status", "Exit", "Time", "Arguments, output"], calls.map((call) => [
    call.turn || UNKNOWN, call.tool, call.status, call.exit_code ?? UNKNOWN, duration(call.duration_ns ?? null),
    el("div", { class: "text" }, [call.arguments, call.stdout && call.stdout.preview, call.stderr && call.stderr.preview,
      call.error_message].filter(Boolean).join("\n"))])) : null);

const spentOn = (part) => [
  titled("Tokens", usageTable(part.usage)), titled("Tools used", toolUsageTable(part.tool_usage)),
  titled("Tool calls", toolCallsTable(part.tool_calls))];

function answerSection(body) {
  const answer = body.answer;
  if (!answer) return null;
  const flags = [["repaired", "The reply's JSON had to be repaired"], ["coerced", "A bare JSON value was taken as text"],
    ["truncated", "The model stopped at its token limit"]].filter(([key]) => answer[key]);
  return el("section", {}, el("h3", {}, answer.title ? `Answer: ${answer.title}` : "Answer"),
    flags.map(([, label]) => el("p", {}, el("span", { class: "badge warn" }, label))),
    paragraph(answer.explanation),
    answer.problems ? titled("Does not fit the schema", block(answer.problems.join("\n"))) : null,
    titled("Actual answer", block(answer.content)),
    answer.raw_text ? titled("Raw reply", block(answer.raw_text)) : null,
    answer.expected.length ? titled(expectedTitle(body), answer.expected.map((text) => block(text))) : null,
    spentOn(answer));
}

const expectedTitle = (body) => `Accepted answer${body.answer.expected.length > 1 ? "s" : ""}`
  + (body.validation && body.validation.method === "schema" ? ", as a JSON Schema" : "");

const METHODS = { exact: "value match", schema: "schema match", semantic: "judge", custom: "custom validator" };

function validationSection(body) {
  const validation = body.validation;
  if (!validation) return null;
  const judge = validation.semantic;
  return el("section", {}, el("h3", {}, validation.title ? `Validation: ${validation.title}` : "Validation",
    el("span", { class: "badge" }, validation.validator || METHODS[validation.method] || validation.method)),
    paragraph(validation.explanation),
    judge ? smallTable(["Judge", "Provider", "Variant", "Verdict"],
      [[judge.judge_name, judge.provider, judge.variant, judge.verdict ?? UNKNOWN]]) : null,
    spentOn(validation));
}

function previousSection(body) {
  const previous = body.previous;
  if (!previous) return null;
  return el("section", {}, el("h3", {}, `Verdict before regrading: ${previous.kind}`), paragraph(previous.reason));
}

function errorSection(body) {
  const error = body.error;
  if (!error) return null;
  const badge = error.transient === true ? "Transient" : error.transient === false ? "Permanent" : null;
  return el("section", {}, el("h3", {}, `Error: ${error.title}`,
    badge ? el("span", { class: "badge warn" }, badge) : null,
    error.from_validation ? el("span", { class: "badge" }, "from validation") : null,
    error.response_parsing ? el("span", { class: "badge" }, "response parsing") : null),
    block(error.message),
    Object.entries(error.details || {}).map(([heading, text]) => titled(heading, block(text))),
    spentOn(error));
}

function requestsSection(body) {
  if (!body.requests.length) return null;
  return el("section", {}, el("h3", {}, "Requests"),
    smallTable(["Turn", "Try", "For", "Status", "Cause", "Waited", "Took", "First byte", "Request id"], body.requests.map((request) => [
      request.turn, request.attempt, request.purpose ?? "candidate", request.status ?? UNKNOWN, request.cached ? "cache" : request.cause || "ok",
      duration(request.waited_ns ?? 0), duration(request.duration_ns ?? 0), duration(request.first_byte_ns ?? null),
      request.request_id ?? UNKNOWN])));
}

function transcriptSection(body) {
  if (!body.transcript.length) return null;
  return el("section", {}, el("h3", {}, "Transcript"), body.transcript.map((message) =>
    el("div", { class: message.role === "assistant" ? "message assistant" : "message" },
      el("b", {}, [message.role, message.name].filter(Boolean).join(" · ")), paragraph(message.text),
      message.arguments ? el("p", { class: "text muted" }, message.arguments) : null)));
}

function factsSection(row, body) {
  const facts = [["Trace id", body.trace_id], ["Test", body.nodeid], ["Defined in", body.source], ["Started", body.started_at],
    ["Finished", body.finished_at], ["Suite", row.suite], ["Category", row.category], ["Difficulty", row.difficulty],
    ["Tags", row.tags.join(", ")], ["Reused from", body.reused_from], ["Cost", row.cost === null ? "" : money(row.cost, row.currency)],
    ["Definition", body.definition], ["Run configuration", body.run_config]].filter(([, value]) => value);
  return el("section", {}, el("h3", {}, "Attempt"), smallTable(null, facts.map(([label, value]) =>
    [label, el("span", { class: label === "Run configuration" ? "text" : null }, value)])));
}

function detailsRow(row, columns) {
  const body = bodyOf(row);
  return el("tr", { class: "details", id: `${row.id}-details` }, el("td", { colspan: columns },
    el("div", { class: "details-grid" },
      el("div", {}, errorSection(body), answerSection(body), requestsSection(body)),
      el("div", {}, validationSection(body), previousSection(body), transcriptSection(body), factsSection(row, body)))));
}

// A page from disk is often not allowed to use the clipboard interface; then the text is offered for copying by hand.
async function copyText(text, source) {
  try {
    await navigator.clipboard.writeText(text);
    source.textContent = "Copied";
  } catch {
    openDialog("Trace id", "Copying is not allowed here; select the text instead.", el("pre", { class: "box" }, text));
  }
}
