// What is chosen on the page. Everything that the page lights or says follows from it.

class View {
  // chosen: what the page is about, with the field `by`:
  //   element {key, row, column}, thread {thread}, warp {warp}, bank {bank}, occupancy, problem {words}, nothing
  constructor(kernel) {
    this.kernel = kernel;
    this.stage = 0;
    this.colour = "bank";
    this.pinned = false;
    this.listeners = [];
    this.choose({ by: "element", key: "d", row: 0, column: 0 });
  }

  changed() {
    this.lights = {};
    for (const listener of this.listeners) listener(this);
  }

  // Choose what a question or a cell is about; with a stage the page shows that one.
  choose({ stage, ...chosen }) {
    if (stage !== undefined) this.stage = stage;
    this.chosen = chosen;
    this.holders = new Set(this.#holders());
    this.changed();
  }

  chooseStage(stage) {
    this.stage = stage;
    this.changed();
  }

  get by() {
    return this.chosen.by;
  }

  // The element that is framed and shown large, or null: of a thread its first accumulator.
  get element() {
    const { kernel, chosen } = this;
    if (chosen.by === "element") return { tensor: kernel.tensors[chosen.key], row: chosen.row, column: chosen.column };
    if (chosen.by !== "thread") return null;
    const [row, column] = kernel.tensors.d.elements(chosen.thread)[0];
    return { tensor: kernel.tensors.d, row, column };
  }

  // Row and column of the framed element if it is one of this tensor.
  ring(key) {
    const { element } = this;
    return element && element.tensor.key === key ? [element.row, element.column] : null;
  }

  // The elements of a tensor that are lit, as [row, column]: all that the threads concerned hold.
  lit(key) {
    return (this.lights[key] ||= this.#lit(key));
  }

  #lit(key) {
    const tensor = this.kernel.tensors[key];
    if (this.by === "bank") return tensor.smem ? tensor.inBank(this.chosen.bank, this.stage) : [];
    const places = new Set();
    for (const thread of this.holders) {
      for (const [row, column] of tensor.elements(thread)) places.add(row * tensor.columns + column);
    }
    const ring = this.by === "element" && this.ring(key);
    if (ring) places.add(ring[0] * tensor.columns + ring[1]);
    return [...places].map((place) => [Math.floor(place / tensor.columns), place % tensor.columns]);
  }

  #holders() {
    const { kernel, chosen } = this;
    if (chosen.by === "thread") return [chosen.thread];
    if (chosen.by === "warp") return kernel.threadsOf(chosen.warp);
    if (chosen.by !== "element") return [];
    return kernel.tensors[chosen.key].holders(chosen.row, chosen.column).map(([thread]) => thread);
  }
}
