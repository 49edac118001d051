// Questions in words: "A(5,17) stage 1", "D(3,9)", "thread 12", "occupancy".

const ELEMENT = /^\s*([abcd])\s*\(?\s*(\d+)\s*[, ]\s*(\d+)\s*\)?\s*(?:,?\s*(?:in\s+)?(?:stage|s)\s*(\d+))?\s*$/i;
const THREAD = /^\s*(?:thread|t)\s*(\d+)\s*$/i;

// What a question means: {element}, {thread}, {occupancy} or {problem}.
function understood(kernel, text) {
  if (/occupan|limit|cta/i.test(text)) return { occupancy: true };
  const thread = THREAD.exec(text);
  if (thread) {
    const number = Number(thread[1]);
    if (number < kernel.threads) return { thread: number };
    return { problem: `${kernel.who}s go from 0 to ${kernel.threads - 1} (got ${number})` };
  }
  const found = ELEMENT.exec(text);
  if (!found) return { problem: "write A(5,17) stage 1, B(n,k), D(3,9), thread 12 or occupancy" };
  const key = found[1].toLowerCase() === "c" ? "d" : found[1].toLowerCase();
  const tensor = kernel.tensors[key];
  const [row, column] = [Number(found[2]), Number(found[3])];
  if (!tensor.has(row, column)) {
    const [down, across] = tensor.modes;
    const most = `${down} up to ${tensor.rows - 1}, ${across} up to ${tensor.columns - 1}`;
    return { problem: `${tensor.name} has ${most} (got ${row}, ${column})` };
  }
  const stage = found[4] === undefined ? null : Number(found[4]);
  if (stage !== null && stage >= Math.max(1, kernel.stages)) {
    return { problem: `stages go from 0 to ${kernel.stages - 1} (got ${stage})` };
  }
  return { element: [key, row, column], stage };
}

// One sentence on what is chosen.
function answer(view) {
  const { kernel, tensor, row, column } = view;
  if (view.by === "thread") {
    const counts = Object.values(kernel.tensors).filter((t) => t.held);
    const words = counts.map((t) => `${t.elements(view.thread).length} elements of ${t.name}`);
    const who = threadWords(kernel, view.thread);
    return `${who[0].toUpperCase()}${who.slice(1)} holds ${words.join(", ")}.`;
  }
  const name = elementName(tensor, row, column);
  const held = `held by ${holderWords(kernel, tensor, row, column)}`;
  if (!tensor.smem) return `${name} is ${held}.`;
  const where = `of stage ${view.stage} lies in bank ${tensor.bank(row, column, view.stage)}`;
  return `${name} ${where}, at byte ${tensor.address(row, column, view.stage)} of shared memory; ${held}.`;
}
