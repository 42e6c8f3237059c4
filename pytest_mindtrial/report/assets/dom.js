// Building elements. Text from results only ever becomes text nodes or attribute values of harmless attributes.

// Signs that reorder what people read, so that "\u202esirap" would show as "paris"; the terminal shows them like this, too.
const REORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const inert = (child) => typeof child !== "string" ? child
  : child.replace(REORDERING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(inert(child));
  }
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

const button = (label, onClick, attributes) =>
  el("button", { type: "button", class: "button", on: { click: onClick }, ...attributes }, label);

const linkButton = (label, title, onClick) =>
  el("button", { type: "button", class: "link", title, on: { click: onClick } }, label);

const KINDS = ["Passed", "Failed", "Error", "Skipped"];
const SYMBOLS = { Passed: "✓", Failed: "✗", Error: "!", Skipped: "–" };

function kindMark(kind, onClick) {
  const content = [el("span", { "aria-hidden": "true" }, SYMBOLS[kind]), kind];
  return onClick
    ? el("button", { type: "button", class: `kind ${kind}`, title: `Show only ${kind}`, on: { click: onClick } }, content)
    : el("span", { class: `kind ${kind}` }, content);
}

// A table head whose cells sort. Columns: {key, label, title?, number?, value(row), plain?}.
function tableHead(columns, order, onSort) {
  return el("thead", {}, el("tr", {}, columns.map((column) => {
    const direction = order.key === column.key ? (order.ascending ? "ascending" : "descending") : "none";
    const attributes = { class: column.number ? "number" : null, scope: "col", title: column.title };
    if (column.plain) return el("th", attributes, column.head ? column.head() : column.label);
    return el("th", { ...attributes, "aria-sort": direction },
      el("button", { type: "button", class: "link sort", "data-sort": column.key, on: { click: () => onSort(column.key) } },
        column.label));
  })));
}

function nextOrder(order, key) {
  return { key, ascending: order.key === key ? !order.ascending : true };
}

// Unknown values sort last in both directions; equal ones keep their order.
function sorted(rows, value, ascending) {
  const collator = new Intl.Collator("en", { numeric: true });
  const sign = ascending ? 1 : -1;
  return rows.map((row, index) => ({ row, index, key: value(row) })).sort((a, b) => {
    const missing = (a.key === null) - (b.key === null);
    if (missing) return missing;
    if (a.key === null) return a.index - b.index;
    const difference = typeof a.key === "number" ? a.key - b.key : collator.compare(a.key, b.key);
    return sign * difference || a.index - b.index;
  }).map((item) => item.row);
}

function field(label, control) {
  return el("label", { class: "field" }, label, control);
}

function checkbox(label, checked, onChange, attributes) {
  const input = el("input", { type: "checkbox", ...attributes, on: { change: () => onChange(input.checked) } });
  input.checked = checked;
  return el("label", { class: "check" }, input, label);
}

function select(options, value, onChange, attributes) {
  const node = el("select", { ...attributes, on: { change: () => onChange(node.value) } },
    options.map(([key, label]) => el("option", { value: key }, label)));
  node.value = value;
  return node;
}

let dialogOpener = null;

function openDialog(title, note, ...content) {
  const dialog = document.getElementById("dialog");
  dialogOpener = document.activeElement;
  dialog.replaceChildren(
    el("header", {}, el("div", { class: "grow" }, el("h2", { id: "dialog-title" }, title), el("p", { class: "sub" }, note)),
      button("Close", () => dialog.close(), { autofocus: true })),
    el("div", { class: "body" }, content));
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  dialog.onclose = () => { if (dialogOpener) dialogOpener.focus(); };
  dialog.showModal();
}
