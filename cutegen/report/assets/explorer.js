// The pictures of one kernel, the field and the panel that tells what is chosen.

const GAP = 14; // between tiles
const NARROW = 128; // of A's column, at least: the keys stand there
const MOST = 10; // of a cell of a tile
const LINES = 360; // of a line of shared memory, at least, where two maps are to stand side by side

class Explorer {
  constructor(root, kernel) {
    this.root = root;
    this.kernel = kernel;
    this.view = new View(kernel);
    this.grids = {};
    this.keys = {}; // what the colours of a grid are to mean
    this.schemes = {}; // and what they mean now
    this.lens = new Lens(this.find("lens"));
    this.panel = new Panel((part) => this.find(part));
    const { a, b, d } = kernel.tensors;
    this.#tile("tile-b", b, true);
    this.#tile("tile-a", a, false);
    this.#tile("tile-d", d, false);
    for (const tensor of kernel.inMemory) this.#memory(`memory-${tensor.key}`, tensor);
    this.#threads();
    this.#controls();
    this.view.listeners.push(() => this.update());
    this.layout();
  }

  find(part) {
    return this.root.querySelector(`[data-part="${part}"]`);
  }

  // Give the cells the sizes that the window has room for, and paint them.
  layout() {
    const room = this.find("maps").clientWidth - 2 * 6;
    if (room <= 0) return; // not shown
    const { a, d } = this.kernel.tensors;
    const high = Math.floor((window.innerHeight - 60) / d.rows);
    const wide = Math.min((room - GAP) / (d.columns + a.columns), (room - GAP - NARROW) / d.columns);
    const cell = Math.max(2, Math.min(MOST, high, Math.floor(wide)));
    const left = Math.floor((room - GAP - d.columns * cell) / a.columns);
    const ofA = Math.max(cell, Math.min(2 * cell, left));
    for (const [part, width] of [["tile-b", cell], ["tile-a", ofA], ["tile-d", cell]]) this.grids[part].resize(width, cell);
    for (const { key } of this.kernel.inMemory) {
      const grid = this.grids[`memory-${key}`];
      const half = Math.floor((room - 24) / 2 / grid.columns) * grid.columns;
      const line = half >= LINES ? half : Math.max(1, Math.floor(Math.min(room, 640) / grid.columns)) * grid.columns;
      const height = Math.floor(Math.min(512, window.innerHeight - 160) / grid.rows);
      grid.resize(line / grid.columns, Math.max(2, Math.min(10, height)));
      this.find(`banks-${key}`).style.width = `${line}px`;
    }
    this.repaint();
  }

  repaint() {
    for (const [name, grid] of Object.entries(this.grids)) {
      this.schemes[name] = this.keys[name]();
      grid.repaint();
      showKey(this.find(`key-${name}`), this.schemes[name], grid.used);
    }
    this.shown = `${this.view.colour} ${this.view.stage}`;
    this.update();
  }

  // Neither the pointer nor the arrow keys move a choice that is held; a press or Enter does. A second press
  // lets it go.
  choose(chosen, press) {
    const { view } = this;
    if (view.pinned && !press) return;
    const before = question(view);
    if (press) view.pinned = !view.pinned || !this.#same(before, chosen);
    this.typed = false;
    view.choose(chosen);
  }

  #same(before, chosen) {
    const { view } = this;
    return before !== null && before === question({ kernel: this.kernel, stage: view.stage, chosen });
  }

  release() {
    this.view.pinned = false;
    this.typed = false;
    if (this.view.by === "problem") this.view.choose({ by: "nothing" });
    else this.update();
  }

  // part: its name; tensor and cell(row, column): the element of a cell, or null; place: the cell of an element.
  #add(part, options) {
    this.keys[part] = options.key;
    this.grids[part] = new Grid(this.find(part), {
      name: part,
      width: 2,
      height: 2,
      bands: () => [],
      moved: (row, column) => this.#keysAt(row === null ? null : options.chosen(row, column)),
      point: (row, column, press) => this.choose(options.chosen(row, column), press),
      ...options,
    });
  }

  // Say where the arrow keys are while another choice is held.
  #keysAt(chosen) {
    const { view, kernel } = this;
    const other = chosen && view.pinned && !this.#same(question(view), chosen);
    const there = other ? chosenName(Object.assign(Object.create(View.prototype), { kernel, stage: view.stage, chosen })) : "";
    const words = other ? `The keys are at ${there}: Enter chooses it, Escape lets ${chosenName(view)} go.` : "";
    this.find("keys").textContent = words;
  }

  #tile(part, tensor, across) {
    const turn = ([row, column]) => (across ? [column, row] : [row, column]);
    const { view } = this;
    const [rows, columns] = turn([tensor.rows, tensor.columns]);
    this.#add(part, {
      rows,
      columns,
      label: `${tensor.name}, ${tensor.rows} by ${tensor.columns}`,
      key: () => colouring(view, tensor, false),
      group: (row, column) => this.schemes[part].group(...turn([row, column])),
      lit: () => view.lit(tensor.key).map(turn),
      ring: () => view.ring(tensor.key) && turn(view.ring(tensor.key)),
      bands: () => this.#bands(tensor),
      chosen: (row, column) => this.#element(tensor, turn([row, column])),
    });
  }

  #element(tensor, [row, column]) {
    return { by: "element", key: tensor.key, row, column };
  }

  // The row of A and the column of B that make the chosen element of D.
  #bands(tensor) {
    const ring = this.view.ring("d");
    if (!ring || tensor.key === "d") return [];
    return tensor.key === "a" ? [[ring[0], null]] : [[null, ring[1]]];
  }

  #memory(part, tensor) {
    const { view } = this;
    const slots = LINE / tensor.bytes;
    const lines = Math.ceil((Math.max(...tensor.offsets) + 1) / LINE);
    const place = ([row, column]) => {
      const offset = tensor.offset(row, column);
      return [Math.floor(offset / LINE), (offset % LINE) / tensor.bytes];
    };
    const element = (line, slot) => tensor.elementAt(line * LINE + slot * tensor.bytes);
    this.#add(part, {
      rows: lines,
      columns: slots,
      label: `${tensor.name} in shared memory, a stage by address, ${lines} lines of 32 banks`,
      key: () => colouring(view, tensor, true),
      group: (line, slot) => {
        const found = element(line, slot);
        return found ? this.schemes[part].group(...found) : -1;
      },
      lit: () => view.lit(tensor.key).map(place),
      ring: () => view.ring(tensor.key) && place(view.ring(tensor.key)),
      chosen: (line, slot) => this.#element(tensor, element(line, slot)),
    });
  }

  #threads() {
    const { view, kernel } = this;
    const place = (thread) => [Math.floor(thread / 32), thread % 32];
    this.#add("threads", {
      rows: kernel.warps,
      columns: 32,
      width: 12,
      height: 12,
      label: `Threads, a warp in each row, ${kernel.threads} of them`,
      key: () => ofThreads(view),
      group: (warp, lane) => (warp * 32 + lane < kernel.threads ? this.schemes.threads.group(warp * 32 + lane) : -1),
      lit: () => [...view.holders].map(place),
      ring: () => (view.by === "thread" ? place(view.chosen.thread) : null),
      chosen: (warp, lane) => ({ by: "thread", thread: warp * 32 + lane }),
    });
  }

  #controls() {
    const { view } = this;
    const stage = this.find("stage");
    for (let i = 0; i < Math.max(1, this.kernel.stages); i++) stage.append(new Option(`${i}`, `${i}`));
    stage.disabled = this.kernel.stages < 2;
    stage.addEventListener("change", () => {
      this.typed = false;
      view.chooseStage(Number(stage.value));
    });
    const colour = this.find("colour");
    colour.addEventListener("change", () => {
      view.colour = colour.value;
      this.repaint();
    });
    const query = this.find("query");
    query.addEventListener("input", () => {
      this.typed = true;
      this.ask(query.value);
    });
    // Examples ask without a stage, so that the one which is shown stays.
    const asked = exampleQuestions(this.kernel).filter((words) => !words.startsWith("B"));
    const examples = asked.map((words) => words.replace(/ stage \d+$/, ""));
    query.placeholder = exampleQuestions(this.kernel)[0];
    for (const words of examples) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.addEventListener("click", () => {
        this.typed = false;
        this.ask(words);
      });
      this.find("examples").append(button);
    }
    this.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.release();
    });
  }

  // Answer a question, and show what it is about.
  ask(text) {
    if (!text.trim()) return this.release();
    this.view.pinned = true;
    this.view.choose(understood(this.kernel, text));
  }

  update() {
    const { view } = this;
    if (this.shown !== `${view.colour} ${view.stage}`) return this.repaint();
    for (const grid of Object.values(this.grids)) grid.draw();
    this.lens.draw(view);
    this.find("stage").value = `${view.stage}`;
    this.find("answer").textContent = answer(view);
    this.find("keys").textContent = "";
    // The field has the question that is answered: as it was typed, or the one of the choice that is held.
    if (!this.typed && view.by !== "problem") this.find("query").value = view.pinned ? question(view) || "" : "";
    this.panel.show(view);
  }
}
