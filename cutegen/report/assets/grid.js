// A grid of cells on a canvas that answers to the pointer and to the arrow keys.

const STEPS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-8, 0],
  PageDown: [8, 0],
};

function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

class Grid {
  // options: rows, columns, width and height of a cell, label, group(row, column) below 0 for nothing, lit() and
  // ring() as cells, bands() as [row, column] of which one may be null, point(row, column, press), and
  // moved(row, column): the keys have come to a cell, or nulls: they have left.
  constructor(parent, options) {
    Object.assign(this, options);
    this.cursor = [0, 0]; // where the arrow keys are, as the pointer has a place of its own
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "grid of cells");
    this.canvas.setAttribute("aria-label", `${this.label}. The arrow keys move, Enter holds the choice.`);
    this.canvas.dataset.grid = this.name;
    parent.append(this.canvas);
    this.scale = Math.max(1, Math.round(window.devicePixelRatio || 1));
    this.canvas.addEventListener("pointermove", (event) => this.#pointed(event, false));
    this.canvas.addEventListener("pointerdown", (event) => this.#pointed(event, true));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("focus", () => {
      if (this.canvas.matches(":focus-visible")) this.canvas.scrollIntoView({ block: "nearest", inline: "nearest" });
      this.draw();
    });
    this.canvas.addEventListener("blur", () => {
      this.moved(null, null);
      this.draw();
    });
    this.resize(this.width, this.height);
  }

  // Give the cells another size; they are to be painted anew.
  resize(width, height) {
    [this.width, this.height] = [width, height];
    this.canvas.width = this.columns * width * this.scale;
    this.canvas.height = this.rows * height * this.scale;
    this.canvas.style.width = `${this.columns * width}px`;
    this.canvas.style.height = `${this.rows * height}px`;
  }

  // Paint the cells anew, as after a change of colours.
  repaint() {
    const base = document.createElement("canvas");
    [base.width, base.height] = [this.columns * this.width, this.rows * this.height];
    const pen = base.getContext("2d");
    const hues = Array.from({ length: 8 }, (_, i) => colourOf(`--g${i}`));
    const gap = this.width > 5 && this.height > 5 ? 1 : 0;
    this.used = new Set();
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const group = this.group(row, column);
        if (group < 0) continue;
        this.used.add(group % 8);
        pen.fillStyle = hues[group % 8];
        pen.fillRect(column * this.width, row * this.height, this.width - gap, this.height - gap);
      }
    }
    this.base = base;
    this.draw();
  }

  draw() {
    if (!this.base) return;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.clearRect(0, 0, this.base.width, this.base.height);
    pen.drawImage(this.base, 0, 0);
    this.#bands(pen);
    pen.fillStyle = colourOf("--lit");
    const gap = this.width > 5 && this.height > 5 ? 1 : 0;
    for (const [row, column] of this.lit()) {
      pen.fillRect(column * this.width, row * this.height, this.width - gap, this.height - gap);
      if (this.width < 10 || this.height < 10) continue; // else a cell on dark paper would seem to be missing
      pen.strokeStyle = colourOf("--frame-edge");
      pen.lineWidth = 1;
      pen.strokeRect(column * this.width + 1.5, row * this.height + 1.5, this.width - gap - 3, this.height - gap - 3);
    }
    this.#frames(pen);
  }

  #bands(pen) {
    pen.fillStyle = colourOf("--band");
    for (const [row, column] of this.bands ? this.bands() : []) {
      if (row !== null) pen.fillRect(0, row * this.height, this.base.width, this.height);
      if (column !== null) pen.fillRect(column * this.width, 0, this.width, this.base.height);
    }
  }

  // The frame of the chosen cell, and of the one where the keys are if that is another. A new choice takes the
  // keys with it.
  #frames(pen) {
    const ring = this.ring();
    const name = ring && ring.join();
    if (ring && name !== this.ringed) this.cursor = ring;
    this.ringed = name;
    const away = !ring || ring[0] !== this.cursor[0] || ring[1] !== this.cursor[1];
    if (away && document.activeElement === this.canvas) this.#frame(pen, this.cursor, ["--lit", "--frame-edge"], [3, 2]);
    if (ring) this.#frame(pen, ring, ["--frame-edge", "--frame"], []);
  }

  #frame(pen, [row, column], [outer, inner], dashes) {
    const [x, y] = [column * this.width, row * this.height];
    for (const [name, out, dash] of [[outer, 3, []], [inner, 1.5, dashes]]) {
      pen.strokeStyle = colourOf(name);
      pen.lineWidth = 2;
      pen.setLineDash(dash);
      pen.strokeRect(x - out, y - out, this.width + 2 * out, this.height + 2 * out);
    }
    pen.setLineDash([]);
  }

  #pointed(event, press) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * this.rows);
    const column = Math.floor(((event.clientX - box.left) / box.width) * this.columns);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return;
    if (this.group(row, column) < 0) return;
    this.point(row, column, press);
  }

  #key(event) {
    const [row, column] = this.cursor;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.point(row, column, true);
      return;
    }
    let step = STEPS[event.key];
    if (event.key === "Home") step = [0, -column];
    if (event.key === "End") step = [0, this.columns - 1 - column];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = [row + step[0], column + step[1]];
    to[0] = Math.min(this.rows - 1, Math.max(0, to[0]));
    to[1] = Math.min(this.columns - 1, Math.max(0, to[1]));
    while (this.group(...to) < 0 && to[0] > 0 && to[1] > 0 && to[0] < this.rows - 1 && to[1] < this.columns - 1) {
      to[0] += Math.sign(step[0]);
      to[1] += Math.sign(step[1]);
    }
    if (this.group(...to) < 0) return;
    this.cursor = to;
    this.point(...to, false);
    this.moved(...to);
    this.draw();
  }
}
