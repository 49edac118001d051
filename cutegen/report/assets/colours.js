// What the colours of a map mean: the cells' groups, and the key that names them.

// Of A, B or D as a tile; inMemory: by address.
function colouring(view, tensor, inMemory) {
  if (view.colour === "thread" && tensor.held) return byThread(tensor);
  if (inMemory) return byChunk(tensor);
  return tensor.smem ? byBank(view, tensor) : byWarp(view.kernel, tensor);
}

function byThread(tensor) {
  const several = tensor.mostHolders > 1 ? "the lowest thread that holds it" : "the thread that holds it";
  return {
    words: `${several}, mod 8`,
    labels: eight((i) => `${i}`),
    group: (row, column) => lowest(tensor, row, column) % 8,
  };
}

function lowest(tensor, row, column) {
  const [holder] = tensor.holders(row, column);
  return holder ? holder[0] : 0;
}

function byWarp(kernel, tensor) {
  const modulo = kernel.warps > 8 ? ", mod 8" : "";
  return {
    words: `the ${tensor.mostHolders > 1 ? "lowest " : ""}warp that holds it${modulo}`,
    labels: eight((i) => `${i}`),
    group: (row, column) => Math.floor(lowest(tensor, row, column) / 32) % 8,
  };
}

function byBank(view, tensor) {
  return {
    words: `the bank, stage ${view.stage}`,
    labels: eight((i) => `${4 * i}-${4 * i + 3}`),
    group: (row, column) => Math.floor(tensor.bank(row, column, view.stage) / 4),
  };
}

// Along the contiguous mode, 16 bytes are a chunk: what a swizzle moves as one.
function byChunk(tensor) {
  const along = tensor.contiguousMode;
  const wide = Math.max(1, 16 / tensor.bytes);
  const turns = tensor.extents[along] > 8 * wide ? `, mod ${8 * wide}` : "";
  return {
    words: `${tensor.modes[along]}${turns}, in chunks of 16 B`,
    labels: eight((i) => `${wide * i}-${wide * (i + 1) - 1}`),
    group: (row, column) => Math.floor([row, column][along] / wide) % 8,
  };
}

// Of the threads themselves.
function ofThreads(view) {
  const { warps } = view.kernel;
  if (view.colour === "thread") return { words: "the thread, mod 8", labels: eight((i) => `${i}`), group: (t) => t % 8 };
  const words = warps > 8 ? "the warp, mod 8" : "the warp";
  return { words, labels: eight((i) => `${i}`), group: (thread) => Math.floor(thread / 32) % 8 };
}

function eight(label) {
  return Array.from({ length: 8 }, (_, i) => label(i));
}

// The key below a map's name: what its colours are, and those that occur in it.
function showKey(parent, { words, labels }, used) {
  const swatches = document.createElement("span");
  swatches.className = "swatches";
  for (const group of [...used].sort()) {
    const swatch = document.createElement("span");
    swatch.style.background = `var(--g${group})`;
    swatch.textContent = labels[group];
    swatches.append(swatch);
  }
  parent.replaceChildren(`Colours: ${words} `, swatches);
}
