// What is chosen on the page, and the words for it.

class View {
  constructor(kernel) {
    this.kernel = kernel;
    this.stage = 0;
    this.colour = "bank";
    this.pinned = false;
    this.listeners = [];
    this.chooseElement("d", 0, 0);
  }

  changed() {
    for (const listener of this.listeners) listener(this);
  }

  get tensor() {
    return this.kernel.tensors[this.key];
  }

  // Choose an element; its lowest holder is the thread that is lit.
  chooseElement(key, row, column) {
    Object.assign(this, { by: "element", key, row, column });
    const holders = this.tensor.holders(row, column);
    this.holders = new Set(holders.map(([thread]) => thread));
    this.thread = holders.length ? holders[0][0] : null;
    this.changed();
  }

  // Choose a thread; its first accumulator is the element.
  chooseThread(thread) {
    const [row, column] = this.kernel.tensors.d.elements(thread)[0];
    Object.assign(this, { by: "thread", key: "d", row, column, thread, holders: new Set([thread]) });
    this.changed();
  }

  chooseStage(stage) {
    this.stage = stage;
    this.changed();
  }

  // What is chosen, so that two choices can be compared.
  get name() {
    return this.by === "thread" ? `thread ${this.thread}` : `${this.key}(${this.row},${this.column})`;
  }

  // The elements of a tensor that are lit, as [row, column].
  lit(key) {
    const own = this.thread === null ? [] : this.kernel.tensors[key].elements(this.thread);
    const places = own.map(([row, column]) => [row, column]);
    return places.length || key !== this.key ? places : [[this.row, this.column]];
  }

  // Which of eight colours an element has.
  group(tensor, row, column) {
    if (this.colour === "bank" && tensor.smem) return Math.floor(tensor.bank(row, column, this.stage) / 4);
    const holders = tensor.holders(row, column);
    if (!holders.length) return tensor.smem ? Math.floor(tensor.bank(row, column, this.stage) / 4) : 0;
    return (this.colour === "bank" ? Math.floor(holders[0][0] / 32) : holders[0][0]) % 8;
  }
}

function threadWords(kernel, thread) {
  return `${kernel.who} ${thread} (warp ${Math.floor(thread / 32)}, lane ${thread % 32})`;
}

// The registers of a value: several values may share one, or a value may take two.
function registerWords(held, value) {
  const [local, block] = [value % held.block, Math.floor(value / held.block)];
  if (held.bits === 32) return [`register ${local}`, block];
  if (held.bits > 32) return [`registers ${2 * local} and ${2 * local + 1}`, block];
  const first = (local * held.bits) % 32;
  return [`register ${Math.floor((local * held.bits) / 32)}, bits ${first} to ${first + held.bits - 1}`, block];
}

function valueWords(tensor, value) {
  const [register, block] = registerWords(tensor.held, value);
  if (tensor.key === "d") return `accumulator ${value} (${register})`;
  return `value ${value % tensor.held.block} of k-block ${block} (${register})`;
}

function listWords(numbers, most = 16) {
  const shown = numbers.slice(0, most).join(", ");
  return numbers.length > most ? `${shown} and ${numbers.length - most} more` : shown;
}

function holderWords(kernel, tensor, row, column) {
  const holders = tensor.holders(row, column);
  if (!holders.length) return "no thread: wgmma reads it from shared memory";
  const each = kernel.alone ? "" : ", each for a tile of its own";
  const byValue = new Map();
  for (const [thread, value] of holders) {
    if (!byValue.has(value)) byValue.set(value, []);
    byValue.get(value).push(thread);
  }
  return [...byValue]
    .map(([value, threads]) => {
      const who =
        threads.length === 1
          ? threadWords(kernel, threads[0])
          : `${threads.length} ${kernel.who}s${each}: ${listWords(threads)}`;
      return `${who}, ${valueWords(tensor, value)}`;
    })
    .join("; ");
}

// Facts on an element as [name, words].
function elementFacts(kernel, tensor, row, column, stage) {
  const facts = [];
  if (tensor.smem) {
    const address = tensor.address(row, column, stage);
    facts.push(["bank", `${tensor.bank(row, column, stage)}`]);
    facts.push(["byte", `${address} of shared memory, in stage ${stage} of ${kernel.stages}`]);
    facts.push(["in its stage", `${tensor.offset(row, column)} of ${tensor.smem.bytes} B of ${tensor.name}`]);
  } else if (tensor.key !== "d") {
    facts.push(["memory", "straight from global memory to registers"]);
  }
  facts.push(["held by", holderWords(kernel, tensor, row, column)]);
  if (tensor.key === "d") facts.push(["made of", `A(${row}, k) and B(${column}, k)`]);
  const copier = tensor.copier(row, column);
  if (copier) {
    const bytes = tensor.copied.vector * tensor.bytes;
    facts.push(["copied by", `${threadWords(kernel, copier[0])}, copy ${copier[1]} of ${bytes} B`]);
  }
  return facts;
}

function elementName(tensor, row, column) {
  return `${tensor.name}(${row}, ${column})`;
}

function threadFacts(kernel, thread) {
  return Object.values(kernel.tensors)
    .filter((tensor) => tensor.held)
    .map((tensor) => {
      const places = tensor.elements(thread).map(([row, column]) => `(${row},${column})`);
      return [tensor.name, `${places.length} elements: ${listWords(places, 8)}`];
    });
}
