// The pictures of one kernel, and the panel that tells what is chosen.

const PIXELS = 512; // of a line of shared memory
const TILE_PIXELS = 620; // of the output tile's longer side, if that can be
const ALL_PIXELS = 860; // likewise of A beside it, or B above it

class Explorer {
  constructor(root, kernel) {
    this.root = root;
    this.kernel = kernel;
    this.view = new View(kernel);
    this.grids = {};
    this.lens = new Lens(this.find("lens"));
    const { a, b, d } = kernel.tensors;
    const side = Math.max(d.rows, d.columns);
    const most = Math.min(TILE_PIXELS / side, ALL_PIXELS / (side + a.columns));
    const cell = Math.max(2, Math.min(8, Math.floor(most)));
    this.#tile("tile-b", b, cell, true);
    this.#tile("tile-a", a, cell, false);
    this.#tile("tile-d", d, cell, false);
    for (const tensor of [a, b]) if (tensor.smem) this.#memory(`memory-${tensor.key}`, tensor);
    this.#threads();
    this.#controls();
    this.view.listeners.push(() => this.update());
    this.repaint();
  }

  find(part) {
    return this.root.querySelector(`[data-part="${part}"]`);
  }

  repaint() {
    for (const grid of Object.values(this.grids)) grid.repaint();
    this.update();
  }

  // Pointing does not move a choice that is held; a press or a key does. A second press lets it go.
  choose(choice, press, key) {
    const { pinned, name } = this.view;
    if (pinned && !press && !key) return;
    choice();
    if (!press) return;
    this.view.pinned = !pinned || name !== this.view.name;
    this.update();
  }

  #add(part, options) {
    this.grids[part] = new Grid(this.find(part), { name: part, ...options });
  }

  #tile(part, tensor, cell, across) {
    const turn = ([row, column]) => (across ? [column, row] : [row, column]);
    const { view } = this;
    const [rows, columns] = turn([tensor.rows, tensor.columns]);
    this.#add(part, {
      rows,
      columns,
      width: cell,
      height: cell,
      label: `${tensor.name}, ${tensor.rows} by ${tensor.columns}`,
      group: (row, column) => view.group(tensor, ...turn([row, column])),
      lit: () => view.lit(tensor.key).map(turn),
      ring: () => (view.key === tensor.key ? turn([view.row, view.column]) : null),
      bands: () => this.#bands(tensor),
      point: (row, column, press, key) =>
        this.choose(() => view.chooseElement(tensor.key, ...turn([row, column])), press, key),
    });
  }

  // The row of A and the column of B that make the chosen element of D.
  #bands(tensor) {
    const { view } = this;
    if (view.key !== "d" || tensor.key === "d") return [];
    return tensor.key === "a" ? [[view.row, null]] : [[null, view.column]];
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
    const along = tensor.contiguousMode;
    this.#add(part, {
      rows: lines,
      columns: slots,
      width: PIXELS / slots,
      height: Math.max(2, Math.min(10, Math.floor(PIXELS / lines))),
      label: `${tensor.name} in shared memory, a stage by address, ${lines} lines of 32 banks`,
      group: (line, slot) => {
        const found = element(line, slot);
        return found ? Math.floor((found[along] * tensor.bytes) / 16) % 8 : -1;
      },
      lit: () => view.lit(tensor.key).map(place),
      ring: () => (view.key === tensor.key ? place([view.row, view.column]) : null),
      point: (line, slot, press, key) =>
        this.choose(() => view.chooseElement(tensor.key, ...element(line, slot)), press, key),
    });
  }

  #threads() {
    const { view, kernel } = this;
    this.#add("threads", {
      rows: Math.ceil(kernel.threads / 32),
      columns: 32,
      width: 12,
      height: 12,
      label: `Threads, a warp in each row, ${kernel.threads} of them`,
      group: (warp, lane) => (warp * 32 + lane >= kernel.threads ? -1 : view.colour === "bank" ? warp % 8 : lane % 8),
      lit: () => [...view.holders].map((thread) => [Math.floor(thread / 32), thread % 32]),
      ring: () => (view.thread === null ? null : [Math.floor(view.thread / 32), view.thread % 32]),
      point: (warp, lane, press, key) => this.choose(() => view.chooseThread(warp * 32 + lane), press, key),
    });
  }

  #controls() {
    const stage = this.find("stage");
    for (let i = 0; i < Math.max(1, this.kernel.stages); i++) stage.append(new Option(`${i}`, `${i}`));
    stage.disabled = this.kernel.stages < 2;
    stage.addEventListener("change", () => this.view.chooseStage(Number(stage.value)));
    const colour = this.find("colour");
    colour.addEventListener("change", () => {
      this.view.colour = colour.value;
      this.repaint();
    });
    const query = this.find("query");
    query.addEventListener("input", () => this.ask(query.value));
    for (const example of this.root.querySelectorAll("[data-ask]")) {
      example.addEventListener("click", () => {
        query.value = example.dataset.ask;
        this.ask(query.value);
      });
    }
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.view.pinned = false;
      this.update();
    });
  }

  // Answer a question, and show what it is about.
  ask(text) {
    if (!text.trim()) return;
    const found = understood(this.kernel, text);
    if (found.element) {
      if (found.stage !== null) this.view.stage = found.stage;
      this.view.pinned = true;
      this.view.chooseElement(...found.element);
    } else if (found.thread !== undefined) {
      this.view.pinned = true;
      this.view.chooseThread(found.thread);
    } else {
      this.find("answer").textContent = found.occupancy ? this.kernel.occupancy : found.problem;
    }
  }

  update() {
    const { view, kernel } = this;
    for (const grid of Object.values(this.grids)) grid.draw();
    this.lens.draw(view);
    this.find("stage").value = `${view.stage}`;
    this.find("answer").textContent = answer(view);
    this.find("held").textContent = view.pinned ? "held: press Escape to let it go" : "";
    const thread = view.by === "thread";
    const { tensor, row, column } = view;
    this.find("chosen").textContent = thread ? threadWords(kernel, view.thread) : elementName(tensor, row, column);
    const facts = thread ? threadFacts(kernel, view.thread) : elementFacts(kernel, tensor, row, column, view.stage);
    this.find("facts").replaceChildren(
      ...facts.flatMap(([name, words]) => {
        const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
        [term.textContent, detail.textContent] = [name, words];
        return [term, detail];
      }),
    );
  }
}
