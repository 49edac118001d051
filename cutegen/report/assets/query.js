// Questions in words: "A(5,17) stage 1", "D(3,9)", "thread 12", "warp 3", "bank 12", "occupancy".

const ELEMENT = /^([abcd])\s*\(?\s*(\d+)\s*[,\s]\s*(\d+)\s*\)?/i;
const THREAD = /^(?:(?:consumer\s+)?thread|t)\s*(\d+)(?:[\s,(]+warp\s*(\d+)[\s,]+lane\s*(\d+)\s*\)?)?/i;
const WARP = /^(?:warp|w)\s*(\d+)(?:[\s,]+lane\s*(\d+))?/i;
const BANK = /^bank\s*(\d+)/i;
const STAGE = /^[\s,]*(?:(?:of|in|at)\s+)?(?:stage|s)\s*(\d+)$/i;
const OCCUPANCY = /^(occup\w*|limit\w*|ctas?)$/;
const SMALL_TALK = new Set(
  "what which how many much is are do does the a an of on in by per sm fit fits it kernel resident".split(" "),
);

// What a question means, as View.choose takes it.
function understood(kernel, text) {
  const asked = text.trim().replace(/[\s?.!]+$/, "");
  for (const [pattern, meaning] of [
    [ELEMENT, elementAsked],
    [THREAD, threadAsked],
    [WARP, warpAsked],
    [BANK, bankAsked],
  ]) {
    const found = pattern.exec(asked);
    if (found) return meaning(kernel, found, asked.slice(found[0].length).trim());
  }
  const words = asked.toLowerCase().split(/[\s,]+/);
  if (words.some((word) => OCCUPANCY.test(word))) return occupancyAsked(kernel, words);
  const examples = exampleQuestions(kernel);
  return problem(`write ${examples.slice(0, -1).join(", ")} or ${examples.at(-1)}`);
}

function problem(words) {
  return { by: "problem", words };
}

function alone(what, rest, why) {
  return problem(`write ${what} alone (got also "${rest}"): ${why}`);
}

function elementAsked(kernel, [, letter, down, across], rest) {
  const key = letter.toLowerCase() === "c" ? "d" : letter.toLowerCase();
  const tensor = kernel.tensors[key];
  const [row, column] = [Number(down), Number(across)];
  if (!tensor.has(row, column)) {
    const most = `${tensor.modes[0]} up to ${tensor.rows - 1}, ${tensor.modes[1]} up to ${tensor.columns - 1}`;
    return problem(`${tensor.name} has ${most} (got ${row}, ${column})`);
  }
  const found = { by: "element", key, row, column };
  if (!rest) return found;
  const name = `${tensor.name}(${row},${column})`;
  if (key === "d") return alone(name, rest, "accumulators lie in registers, which have no stages");
  if (!tensor.smem) return alone(name, rest, `${tensor.name} does not pass shared memory, so that there are no stages`);
  return withStage(kernel, found, name, rest);
}

function withStage(kernel, found, name, rest) {
  const asked = STAGE.exec(rest);
  if (!asked) return problem(`write ${name}, or ${name} stage 0 (got "${rest}" for the stage)`);
  const stage = Number(asked[1]);
  const most = Math.max(1, kernel.stages) - 1;
  if (stage > most) return problem(`stages go from 0 to ${most} (got ${stage})`);
  return { ...found, stage };
}

function threadAsked(kernel, [, number, warp, lane], rest) {
  const thread = Number(number);
  if (thread >= kernel.threads) return problem(`${kernel.who}s go from 0 to ${kernel.threads - 1} (got ${thread})`);
  if (warp !== undefined && (Number(warp) !== Math.floor(thread / 32) || Number(lane) !== thread % 32)) {
    return problem(`${threadWords(kernel, thread)} is meant, or another one (got warp ${warp}, lane ${lane})`);
  }
  if (rest) return alone(`thread ${thread}`, rest, "it holds the same elements in every stage");
  return { by: "thread", thread };
}

function warpAsked(kernel, [, number, lane], rest) {
  const warp = Number(number);
  if (warp >= kernel.warps) return problem(`warps go from 0 to ${kernel.warps - 1} (got ${warp})`);
  if (rest) return alone(`warp ${warp}`, rest, "it holds the same elements in every stage");
  return lane === undefined ? { by: "warp", warp } : threadAsked(kernel, ["", `${warp * 32 + Number(lane)}`], "");
}

function bankAsked(kernel, [, number], rest) {
  const bank = Number(number);
  if (!kernel.inMemory.length) return problem("A and B do not pass shared memory, so that no bank holds them");
  if (bank >= BANKS) return problem(`banks go from 0 to ${BANKS - 1} (got ${bank})`);
  const found = { by: "bank", bank };
  return rest ? withStage(kernel, found, `bank ${bank}`, rest) : found;
}

function occupancyAsked(kernel, words) {
  const other = words.filter((word) => !OCCUPANCY.test(word) && !SMALL_TALK.has(word) && word !== kernel.arch);
  if (!other.length) return { by: "occupancy" };
  return alone("occupancy", other.join(" "), `the page has it for ${kernel.arch}, the arch of the config, and no other`);
}

// Questions that this kernel can be asked.
function exampleQuestions(kernel) {
  const { a, b, d } = kernel.tensors;
  const at = (tensor, row, column) =>
    `${tensor.name}(${Math.min(row, tensor.rows - 1)},${Math.min(column, tensor.columns - 1)})`;
  const stage = a.smem ? ` stage ${Math.min(1, Math.max(1, kernel.stages) - 1)}` : "";
  const found = [`${at(a, 5, 17)}${stage}`, at(b, 7, 3), at(d, 3, 9), `thread ${Math.min(12, kernel.threads - 1)}`];
  found.push(`warp ${Math.min(3, kernel.warps - 1)}`);
  if (kernel.inMemory.length) found.push("bank 12");
  return [...found, "occupancy"];
}

// The question that what is chosen answers; null where no question leads to it.
function question(view) {
  const { chosen, stage, kernel } = view;
  if (chosen.by === "element") {
    const tensor = kernel.tensors[chosen.key];
    return `${tensor.name}(${chosen.row},${chosen.column})${tensor.smem ? ` stage ${stage}` : ""}`;
  }
  if (chosen.by === "thread") return `thread ${chosen.thread}`;
  if (chosen.by === "warp") return `warp ${chosen.warp}`;
  if (chosen.by === "bank") return `bank ${chosen.bank} stage ${stage}`;
  return chosen.by === "occupancy" ? "occupancy" : null;
}
