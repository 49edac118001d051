// The theme, and the kernel whose pictures are shown.

const subjects = JSON.parse(document.getElementById("data").textContent);
const explorers = [];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to the ${theme === "dark" ? "light" : "dark"} theme`);
  for (const explorer of explorers) explorer.repaint();
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
});
setTheme(dark.matches ? "dark" : "light");

for (const root of document.querySelectorAll("[data-explorer]")) {
  const { kernel, label, occupancy } = subjects[Number(root.dataset.explorer)];
  explorers.push(new Explorer(root, new Kernel(kernel, label, occupancy)));
}

// Of two kernels one is explored at a time.
const which = document.getElementById("which");
if (which) {
  const show = () => {
    for (const root of document.querySelectorAll("[data-subject]")) root.hidden = root.dataset.subject !== which.value;
  };
  which.addEventListener("change", show);
  show();
}

// For tests and the console.
window.cutegenReport = explorers;
