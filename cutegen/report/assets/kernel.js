// The tensors of a kernel: who holds an element, where it lies, who copies it.

const BANKS = 32;
const LINE = 128; // bytes: every bank once

class Tensor {
  constructor(key, data) {
    Object.assign(this, data);
    this.key = key;
    this.name = key.toUpperCase();
    [this.rows, this.columns] = data.extents;
    this.owners = this.held ? this.#owners() : null;
    this.offsets = this.smem ? this.#offsets() : null;
    this.copiers = this.copied ? this.#copiers() : null;
  }

  has(row, column) {
    return row >= 0 && column >= 0 && row < this.rows && column < this.columns;
  }

  // All that hold an element, as [thread, value], the lowest thread first.
  holders(row, column) {
    return this.owners ? this.owners[row * this.columns + column] : [];
  }

  // The elements of a thread, as [row, column, value].
  elements(thread) {
    return this.ofThread ? this.ofThread[thread] || [] : [];
  }

  // Bytes from the start of the operand's stage; likewise from the start of shared memory.
  offset(row, column) {
    return this.offsets[row * this.columns + column];
  }

  address(row, column, stage) {
    return this.smem.base + stage * this.smem.pitch + this.offset(row, column);
  }

  bank(row, column, stage) {
    return Math.floor(this.address(row, column, stage) / 4) % BANKS;
  }

  // The first and the last bank that an element takes.
  banks(row, column, stage) {
    const first = this.bank(row, column, stage);
    return [first, (first + Math.ceil(this.bytes / 4) - 1) % BANKS];
  }

  // The elements of which a bank has a part, as [row, column].
  inBank(bank, stage) {
    const found = [];
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const first = this.bank(row, column, stage);
        if ((bank - first + BANKS) % BANKS < Math.ceil(this.bytes / 4)) found.push([row, column]);
      }
    }
    return found;
  }

  // The k of a k-block as [first, last]; null where they do not follow one another.
  blockRange(block) {
    this.ranges ||= this.#ranges();
    return this.ranges[block];
  }

  get mostHolders() {
    this.most ||= this.owners.reduce((most, all) => Math.max(most, all.length), 0);
    return this.most;
  }

  #ranges() {
    const blocks = [];
    this.owners.forEach((all, place) => {
      for (const [, value] of all) (blocks[Math.floor(value / this.held.block)] ||= new Set()).add(place % this.columns);
    });
    return blocks.map((all) => {
      const [first, last] = [Math.min(...all), Math.max(...all)];
      return last - first + 1 === all.size ? [first, last] : null;
    });
  }

  // Which mode's elements lie side by side: 0 for rows, 1 for columns.
  get contiguousMode() {
    if (this.rows < 2 || this.columns < 2) return this.columns > 1 ? 1 : 0;
    return Math.abs(this.offset(0, 1) - this.offset(0, 0)) <= Math.abs(this.offset(1, 0) - this.offset(0, 0)) ? 1 : 0;
  }

  // The element at a byte of the stage, or null where there is none.
  elementAt(offset) {
    const index = this.places.get(offset);
    return index === undefined ? null : [Math.floor(index / this.columns), index % this.columns];
  }

  // Who copies an element to shared memory, as [thread, step].
  copier(row, column) {
    return this.copiers ? this.copiers[row * this.columns + column] : null;
  }

  #owners() {
    const owners = Array.from({ length: this.rows * this.columns }, () => []);
    this.ofThread = [];
    eachPlace(this.held, (thread, value, row, column) => {
      owners[row * this.columns + column].push([thread, value]);
      (this.ofThread[thread] ||= []).push([row, column, value]);
    });
    return owners;
  }

  #offsets() {
    const { mn, k, swizzle, unit } = this.smem;
    const [rows, columns] = [tableOf(mn), tableOf(k)];
    const offsets = [];
    this.places = new Map();
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const offset = unit * swizzled(swizzle, rows[row] + columns[column]);
        this.places.set(offset, offsets.length);
        offsets.push(offset);
      }
    }
    return offsets;
  }

  #copiers() {
    const copiers = [];
    const { along, vector } = this.copied;
    eachPlace(this.copied, (thread, step, row, column) => {
      for (let i = 0; i < vector; i++) {
        const index = along ? row * this.columns + column + i : (row + i) * this.columns + column;
        copiers[index] = [thread, step];
      }
    });
    return copiers;
  }
}

class Kernel {
  // occupancy: in sentences; limits: its facts as [name, words].
  constructor(data, { label, occupancy, limits, arch }) {
    Object.assign(this, data, { label, occupancy, limits, arch });
    this.tensors = Object.fromEntries(
      Object.entries(data.tensors).map(([key, tensor]) => [key, new Tensor(key, tensor)]),
    );
    this.warps = Math.ceil(this.threads / 32);
    const { a, b, d } = this.tensors;
    this.inMemory = [a, b].filter((tensor) => tensor.smem);
    this.inRegisters = [a, b, d].filter((tensor) => tensor.held);
  }

  threadsOf(warp) {
    const count = Math.min(32, this.threads - 32 * warp);
    return Array.from({ length: count }, (_, lane) => 32 * warp + lane);
  }
}
