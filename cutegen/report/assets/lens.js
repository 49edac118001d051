// The neighbourhood of the chosen element, large enough to be read.

class Lens {
  constructor(canvas) {
    this.canvas = canvas;
    [this.rows, this.columns, this.width, this.height, this.left, this.top] = [7, 6, 58, 34, 34, 18];
    this.scale = Math.max(1, Math.round(window.devicePixelRatio || 1));
    const [wide, high] = [this.left + this.columns * this.width, this.top + this.rows * this.height];
    [canvas.width, canvas.height] = [wide * this.scale, high * this.scale];
    [canvas.style.width, canvas.style.height] = [`${wide}px`, `${high}px`];
  }

  draw(view) {
    const { tensor } = view;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const first = [
      Math.max(0, Math.min(view.row - Math.floor(this.rows / 2), tensor.rows - this.rows)),
      Math.max(0, Math.min(view.column - Math.floor(this.columns / 2), tensor.columns - this.columns)),
    ];
    const lit = new Set(view.lit(view.key).map(([row, column]) => row * tensor.columns + column));
    for (let i = 0; i < Math.min(this.rows, tensor.rows); i++) {
      this.#name(pen, `${tensor.modes[0]} ${first[0] + i}`, this.left / 2, this.top + (i + 0.5) * this.height);
      for (let j = 0; j < Math.min(this.columns, tensor.columns); j++) {
        const [row, column] = [first[0] + i, first[1] + j];
        if (i === 0) {
          this.#name(pen, `${tensor.modes[1]} ${column}`, this.left + (j + 0.5) * this.width, this.top / 2);
        }
        this.#cell(pen, view, row, column, [i, j], lit.has(row * tensor.columns + column));
      }
    }
  }

  #name(pen, words, x, y) {
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = colourOf("--soft");
    pen.fillText(words, x, y);
  }

  #cell(pen, view, row, column, [i, j], lit) {
    const [x, y] = [this.left + j * this.width, this.top + i * this.height];
    pen.fillStyle = lit ? colourOf("--ink") : colourOf(`--g${view.group(view.tensor, row, column) % 8}`);
    pen.fillRect(x, y, this.width - 1, this.height - 1);
    pen.fillStyle = lit ? colourOf("--paper") : "#000000";
    pen.font = "11px system-ui, sans-serif";
    const words = this.#words(view, row, column);
    words.forEach((text, line) => {
      pen.fillText(text, x + this.width / 2, y + (this.height * (line + 1)) / (words.length + 1));
    });
    if (row !== view.row || column !== view.column) return;
    pen.strokeStyle = colourOf("--accent");
    pen.lineWidth = 3;
    pen.strokeRect(x + 1, y + 1, this.width - 3, this.height - 3);
  }

  #words(view, row, column) {
    const { tensor } = view;
    const [holder] = tensor.holders(row, column);
    const words = holder ? [`T${holder[0]} v${tensor.key === "d" ? holder[1] : holder[1] % tensor.held.block}`] : [];
    if (tensor.smem) words.push(`bank ${tensor.bank(row, column, view.stage)}`);
    return words;
  }
}
