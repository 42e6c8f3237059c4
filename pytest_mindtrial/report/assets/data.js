// The payload: an index of all results, read at once, and bodies in chunks, read when a row is shown.

const parseBlock = (id) => JSON.parse(document.getElementById(id).textContent);

const INDEX = parseBlock("mt-index");
const EVALUATION = INDEX.evaluation;
const CHUNKS = new Map();

const ROWS = INDEX.rows.map((cells, number) => {
  const [run, task, kind, duration, suite, category, difficulty, tags, input, output, toolCalls, cost, costUnknown, currency,
    repeat] = cells;
  return {
    number, id: INDEX.ids[number], run: INDEX.runs[run], runNumber: run,
    provider: INDEX.runs[run].provider, runName: INDEX.runs[run].run,
    task: INDEX.tasks[task], taskKey: repeat === null ? `${task}` : `${task}/${repeat}`, repeat,
    kind: KINDS[kind], duration,
    suite: INDEX.labels[suite], category: INDEX.labels[category], difficulty: INDEX.labels[difficulty],
    tags: tags.map((tag) => INDEX.labels[tag]),
    input, output, toolCalls, cost, costUnknown: Boolean(costUnknown), currency: INDEX.labels[currency],
  };
});

function bodyOf(row) {
  const number = Math.floor(row.number / INDEX.chunk_size);
  if (!CHUNKS.has(number)) CHUNKS.set(number, parseBlock(`mt-body-${number}`));
  return CHUNKS.get(number)[row.number % INDEX.chunk_size];
}

const taskLabel = (row) => (row.repeat === null ? row.task : `${row.task} (repeat ${row.repeat})`);

const distinct = (value) => [...new Set(ROWS.flatMap(value))].filter(Boolean).sort();
