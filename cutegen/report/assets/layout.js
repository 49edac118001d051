// Layouts and swizzles of the plan, evaluated as CuTe evaluates them.
"use strict";

// The offset of every linear index: the first mode runs fastest.
function tableOf(map) {
  if (map.table) return map.table;
  let offsets = [0];
  map.shape.forEach((extent, mode) => {
    const longer = [];
    for (let i = 0; i < extent; i++) {
      for (const base of offsets) longer.push(base + i * map.stride[mode]);
    }
    offsets = longer;
  });
  return offsets;
}

// Swizzle<B,M,S>: the bits from M + S on are xored into those from M on.
function swizzled([b, m, s], offset) {
  if (b === 0) return offset;
  const bits = offset & (((1 << b) - 1) << (m + Math.max(0, s)));
  return offset ^ (s >= 0 ? bits >> s : bits << -s);
}

// The sums of a thread's coordinates and those of its values: calls back with both numbers and the place.
function eachPlace(held, visit) {
  const [threadRows, threadColumns] = held.thread.map(tableOf);
  const [valueRows, valueColumns] = (held.value || held.step).map(tableOf);
  threadRows.forEach((row, thread) => {
    valueRows.forEach((down, value) => {
      visit(thread, value, row + down, threadColumns[thread] + valueColumns[value]);
    });
  });
}
