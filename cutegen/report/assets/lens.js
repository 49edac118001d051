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

  // B is drawn as in its map: k down, n across.
  draw(view) {
    const { element } = view;
    this.canvas.parentElement.classList.toggle("absent", !element);
    if (!element) return;
    const { tensor } = element;
    const turn = ([first, second]) => (tensor.key === "b" ? [second, first] : [first, second]);
    const [rows, columns] = turn([tensor.rows, tensor.columns]);
    const [down, across] = turn(tensor.modes);
    const [row, column] = turn([element.row, element.column]);
    const { group } = colouring(view, tensor, false);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const first = [
      Math.max(0, Math.min(row - Math.floor(this.rows / 2), rows - this.rows)),
      Math.max(0, Math.min(column - Math.floor(this.columns / 2), columns - this.columns)),
    ];
    const lit = new Set(view.lit(tensor.key).map(([r, c]) => r * tensor.columns + c));
    for (let i = 0; i < Math.min(this.rows, rows); i++) {
      this.#name(pen, `${down} ${first[0] + i}`, this.left / 2, this.top + (i + 0.5) * this.height);
      for (let j = 0; j < Math.min(this.columns, columns); j++) {
        if (i === 0) {
          this.#name(pen, `${across} ${first[1] + j}`, this.left + (j + 0.5) * this.width, this.top / 2);
        }
        const [r, c] = turn([first[0] + i, first[1] + j]);
        const colour = lit.has(r * tensor.columns + c) ? null : `--g${group(r, c)}`;
        const words = this.#words(tensor, r, c, view.stage);
        this.#cell(pen, [i, j], colour, words, r === element.row && c === element.column);
      }
    }
  }

  #name(pen, words, x, y) {
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = colourOf("--soft");
    pen.fillText(words, x, y);
  }

  // A cell of a colour, or a lit one where there is none.
  #cell(pen, [i, j], colour, words, framed) {
    const [x, y] = [this.left + j * this.width, this.top + i * this.height];
    pen.fillStyle = colourOf(colour || "--lit");
    pen.fillRect(x, y, this.width - 1, this.height - 1);
    pen.fillStyle = colour ? "#000000" : "#ffffff";
    pen.font = "11px system-ui, sans-serif";
    words.forEach((text, line) => {
      pen.fillText(text, x + this.width / 2, y + (this.height * (line + 1)) / (words.length + 1));
    });
    if (!framed) return;
    pen.strokeStyle = colourOf("--frame");
    pen.lineWidth = 3;
    pen.strokeRect(x + 1, y + 1, this.width - 3, this.height - 3);
  }

  #words(tensor, row, column, stage) {
    const [holder] = tensor.holders(row, column);
    const words = holder ? [`T${holder[0]} v${tensor.key === "d" ? holder[1] : holder[1] % tensor.held.block}`] : [];
    if (tensor.smem) words.push(bankWords(tensor, row, column, stage).replace(/^banks (\d+) and /, "bank $1, "));
    return words;
  }
}
