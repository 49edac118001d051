// The words for what is chosen: a name, one sentence, and facts.

function threadWords(kernel, thread) {
  return `${kernel.who} ${thread} (warp ${Math.floor(thread / 32)}, lane ${thread % 32})`;
}

function capital(words) {
  return `${words[0].toUpperCase()}${words.slice(1)}`;
}

function elementName(tensor, row, column) {
  return `${tensor.name}(${row}, ${column})`;
}

// Where a value lies among the 32-bit words of the accumulators, or of a k-block's fragment: several values may
// share a word, or a value take two.
function wordWords(held, value) {
  const local = value % held.block;
  if (held.bits === 32) return `32-bit word ${local}`;
  if (held.bits > 32) return `32-bit words ${2 * local} and ${2 * local + 1}`;
  const first = (local * held.bits) % 32;
  return `32-bit word ${Math.floor((local * held.bits) / 32)}, bits ${first} to ${first + held.bits - 1}`;
}

function valueWords(tensor, value) {
  const { block } = tensor.held;
  if (tensor.key === "d") return `accumulator ${value} of the thread's ${block}`;
  return `value ${value % block} of ${blockWords(tensor, value)} of its fragment of ${tensor.name}`;
}

function blockWords(tensor, value) {
  const block = Math.floor(value / tensor.held.block);
  const range = tensor.blockRange(block);
  return `k-block ${block}${range ? ` (k ${range[0]} to ${range[1]})` : ""}`;
}

// What the number of a value means: an index, and not the name of a register.
function indexWords(tensor, values) {
  const { block } = tensor.held;
  const each = values.slice(0, 4).map((value) => {
    const where = tensor.key === "d" ? "" : ` in k-block ${Math.floor(value / block)}`;
    return `index ${value % block} of 0 to ${block - 1}${where} (${wordWords(tensor.held, value)})`;
  });
  const more = values.length > 4 ? ` and ${values.length - 4} more` : "";
  return `${each.join("; ")}${more}, not a hardware register: the compiler chooses those`;
}

function listWords(numbers, most = 16) {
  const shown = numbers.slice(0, most).join(", ");
  return numbers.length > most ? `${shown} and ${numbers.length - most} more` : shown;
}

// Who holds an element under which value, as [value, threads].
function valuesOf(tensor, row, column) {
  const byValue = new Map();
  for (const [thread, value] of tensor.holders(row, column)) {
    if (!byValue.has(value)) byValue.set(value, []);
    byValue.get(value).push(thread);
  }
  return [...byValue];
}

const NO_THREAD = "no thread: wgmma reads it from shared memory";

function holderWords(kernel, tensor, row, column) {
  const each = kernel.alone ? "" : ", each for a tile of its own";
  const found = valuesOf(tensor, row, column).map(([value, threads]) => {
    const several = `${threads.length} ${kernel.who}s${each}: ${listWords(threads)}`;
    return `${threads.length === 1 ? threadWords(kernel, threads[0]) : several}, ${valueWords(tensor, value)}`;
  });
  return found.join("; ") || NO_THREAD;
}

function bankWords(tensor, row, column, stage) {
  const [first, last] = tensor.banks(row, column, stage);
  return first === last ? `bank ${first}` : `banks ${first} and ${last}`;
}

// One sentence on what is chosen.
function answer(view) {
  const { kernel, chosen, stage } = view;
  const held = (tensors, words) => tensors.map((t) => `${view.lit(t.key).length} ${words(t)}`).join(", ");
  switch (chosen.by) {
    case "thread":
      return `${capital(threadWords(kernel, chosen.thread))} holds ${held(kernel.inRegisters, (t) => `elements of ${t.name}`)}.`;
    case "warp": {
      const threads = kernel.threadsOf(chosen.warp);
      const who = `Warp ${chosen.warp} (${kernel.who}s ${threads[0]} to ${threads.at(-1)})`;
      return `${who} holds ${held(kernel.inRegisters, (t) => `elements of ${t.name}`)}.`;
    }
    case "bank":
      return `Bank ${chosen.bank} of stage ${stage} holds ${held(kernel.inMemory, (t) => `elements of ${t.name}`)}.`;
    case "occupancy":
      return kernel.occupancy || "The occupancy is not known before the kernel is compiled.";
    case "problem":
      return chosen.words;
    case "nothing":
      return "Point at a cell or a thread, or ask above.";
  }
  const { tensor, row, column } = view.element;
  const name = elementName(tensor, row, column);
  const by = `held by ${holderWords(kernel, tensor, row, column)}`;
  if (!tensor.smem) return `${name} is ${by}.`;
  const byte = tensor.address(row, column, stage);
  return `${name} of stage ${stage} lies in ${bankWords(tensor, row, column, stage)}, at byte ${byte} of shared memory; ${by}.`;
}

// What the panel is about.
function chosenName(view) {
  const { kernel, chosen, stage } = view;
  if (chosen.by === "thread") return threadWords(kernel, chosen.thread);
  if (chosen.by === "warp") return `warp ${chosen.warp}`;
  if (chosen.by === "bank") return `bank ${chosen.bank} of stage ${stage}`;
  if (chosen.by === "occupancy") return `occupancy of an SM of ${kernel.arch}`;
  if (chosen.by !== "element") return "nothing chosen";
  return elementName(view.element.tensor, chosen.row, chosen.column);
}

// Facts as [name, ...parts]; a part is words, or {items, most}: a list of which so many are shown at first.
function factsOf(view) {
  const { kernel, by } = view;
  if (by === "element") return elementFacts(view);
  if (by === "occupancy") return kernel.limits.map(([name, words]) => [name, words]);
  const tensors = by === "bank" ? kernel.inMemory : kernel.inRegisters;
  if (by !== "thread" && by !== "warp" && by !== "bank") return [];
  return tensors.map((tensor) => {
    const items = by === "thread" ? tensor.elements(view.chosen.thread) : view.lit(tensor.key);
    return [tensor.name, `${items.length} elements: `, { items: items.map(([r, c]) => `(${r},${c})`), most: 8 }];
  });
}

function elementFacts({ kernel, element, stage }) {
  const { tensor, row, column } = element;
  const facts = [];
  if (tensor.smem) {
    const address = tensor.address(row, column, stage);
    facts.push(["bank", bankWords(tensor, row, column, stage).replace(/^banks? /, "")]);
    facts.push(["byte", `${address} of shared memory, stage ${stage}`]);
    facts.push(["in its stage", `${tensor.offset(row, column)} of ${tensor.smem.bytes} B of ${tensor.name}`]);
  } else if (tensor.key !== "d") {
    facts.push(["memory", "straight from global memory to registers"]);
  }
  const values = valuesOf(tensor, row, column);
  for (const [value, threads] of values) {
    const one = threads.length === 1;
    const each = kernel.alone ? "" : ", each for a tile of its own";
    const who = one ? threadWords(kernel, threads[0]) : `${threads.length} ${kernel.who}s${each}: `;
    const list = one ? [] : [{ items: threads, most: 16 }];
    facts.push(["held by", who, ...list, `, ${valueWords(tensor, value)}`]);
  }
  if (!values.length) facts.push(["held by", NO_THREAD]);
  const name = tensor.key === "d" ? "accumulator" : "value";
  if (values.length) facts.push([name, indexWords(tensor, values.map(([value]) => value))]);
  if (tensor.key === "d") facts.push(["made of", `A(${row}, k) and B(${column}, k)`]);
  const copier = tensor.copier(row, column);
  if (copier) {
    const bytes = tensor.copied.vector * tensor.bytes;
    facts.push(["copied by", `${threadWords(kernel, copier[0])}, copy ${copier[1]} of ${bytes} B`]);
  }
  return facts;
}
