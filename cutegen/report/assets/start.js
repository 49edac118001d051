// The theme, the kernel whose pictures are shown, and what follows the window.

const subjects = JSON.parse(document.getElementById("data").textContent);
const explorers = [];
const THEME = "cutegen-theme";

// Files may have no storage.
function remembered() {
  try {
    const found = window.localStorage.getItem(THEME);
    return found === "dark" || found === "light" ? found : null;
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    window.localStorage.setItem(THEME, theme);
  } catch {
    // then it holds until the page is closed
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to the ${theme === "dark" ? "light" : "dark"} theme`);
  for (const explorer of explorers) explorer.layout();
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let ownTheme = remembered();
dark.addEventListener("change", () => {
  if (!ownTheme) setTheme(dark.matches ? "dark" : "light");
});
document.getElementById("theme").addEventListener("click", () => {
  ownTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remember(ownTheme);
  setTheme(ownTheme);
});
setTheme(ownTheme || (dark.matches ? "dark" : "light"));

for (const root of document.querySelectorAll("[data-explorer]")) {
  const subject = subjects[Number(root.dataset.explorer)];
  explorers.push(new Explorer(root, new Kernel(subject.kernel, subject)));
}

// Of two kernels one is explored at a time.
const which = document.getElementById("which");
if (which) {
  const show = () => {
    for (const root of document.querySelectorAll("[data-subject]")) root.hidden = root.dataset.subject !== which.value;
    for (const explorer of explorers) explorer.layout();
  };
  which.addEventListener("change", show);
  show();
}

// Skip links lead into the explorer that is shown.
for (const link of document.querySelectorAll("[data-skip]")) {
  link.addEventListener("click", (event) => {
    const shown = explorers.find((explorer) => explorer.root.offsetHeight > 0);
    if (!shown) return;
    event.preventDefault();
    (link.dataset.skip === "query" ? shown.find("query") : shown.grids[link.dataset.skip].canvas).focus();
  });
}

// What is wider than the window says so, since a scroll bar may be hidden.
function cues() {
  for (const wide of document.querySelectorAll(".scroll, .picture")) {
    const more = wide.scrollWidth > wide.clientWidth + 1;
    wide.classList.toggle("wide", more);
    wide.tabIndex = more ? 0 : -1;
  }
}

let waiting = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => {
    for (const explorer of explorers) explorer.layout();
    cues();
  });
});
cues();

// For tests and the console.
window.cutegenReport = explorers;
