// What an answer has too little (del) and too much (ins) against an accepted one, word by word.

const DIFF_LIMIT = 600;

function diffTexts(want, got) {
  let start = 0, end = 0;
  const shortest = Math.min(want.length, got.length);
  while (start < shortest && want[start] === got[start]) start += 1;
  while (end < shortest - start && want[want.length - 1 - end] === got[got.length - 1 - end]) end += 1;
  const tokens = (text) => text.slice(start, text.length - end).match(/[\p{L}\p{N}_]+|\s+|[^\s\p{L}\p{N}_]/gu) || [];
  const pieces = [["=", want.slice(0, start)], ...diffTokens(tokens(want), tokens(got)), ["=", want.slice(want.length - end)]];
  return joinPieces(pieces.filter((piece) => piece[1]));
}

// Myers' greedy walk; past the limit the rest is one deletion and one insertion.
function diffTokens(old, fresh) {
  const reached = new Map([[1, 0]]), trail = [];
  const bound = Math.min(old.length + fresh.length, DIFF_LIMIT);
  for (let distance = 0; distance <= bound; distance += 1) {
    trail.push(new Map(reached));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const down = diagonal === -distance
        || (diagonal !== distance && (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1));
      let x = down ? reached.get(diagonal + 1) : reached.get(diagonal - 1) + 1;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return walkBack(old, fresh, trail);
    }
  }
  return [["-", old.join("")], ["+", fresh.join("")]];
}

function walkBack(old, fresh, trail) {
  const pieces = [];
  let x = old.length, y = fresh.length;
  for (let distance = trail.length - 1; distance >= 0 && (x > 0 || y > 0); distance -= 1) {
    const reached = trail[distance], diagonal = x - y;
    const down = diagonal === -distance
      || (diagonal !== distance && (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1));
    const before = down ? diagonal + 1 : diagonal - 1;
    const fromX = distance ? reached.get(before) : 0, fromY = distance ? fromX - before : 0;
    while (x > fromX && y > fromY) { x -= 1; y -= 1; pieces.push(["=", old[x]]); }
    if (!distance) break;
    if (down) { y -= 1; pieces.push(["+", fresh[y]]); } else { x -= 1; pieces.push(["-", old[x]]); }
  }
  return pieces.reverse();
}

// Joins neighbours. A blank between two changes belongs to both: "big red" for "small blue" is one change, not two.
function joinPieces(pieces) {
  const out = [];
  let removed = "", added = "", gap = "";
  const flush = () => {
    if (removed) out.push(["-", removed]);
    if (added) out.push(["+", added]);
    if (gap) out.push(["=", gap]);
    removed = added = gap = "";
  };
  for (const [op, text] of pieces) {
    if (op !== "=") {
      removed += gap + (op === "-" ? text : "");
      added += gap + (op === "+" ? text : "");
      gap = "";
    } else if (!gap && (removed || added) && /^ +$/.test(text)) {
      gap = text;
    } else {
      flush();
      out.push(["=", text]);
    }
  }
  flush();
  return out;
}

function diffNode(want, got) {
  const visible = (text) => text.replaceAll("\n", "¶\n");
  return el("div", { class: "text diff" }, diffTexts(want, got).map(([op, text]) =>
    op === "=" ? el("span", {}, text) : op === "-" ? el("del", {}, visible(text)) : el("ins", {}, visible(text))));
}
