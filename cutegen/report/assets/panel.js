// The panel beside the maps: name, facts, and lists that can be opened.

class Panel {
  constructor(find) {
    this.find = find;
    this.open = false; // lists are shown whole
  }

  show(view) {
    this.find("chosen").textContent = chosenName(view);
    this.find("held").textContent = view.pinned ? "held: Escape lets it go" : "";
    const rows = factsOf(view).flatMap(([name, ...parts]) => {
      const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      detail.append(...parts.flatMap((part) => (part.items ? this.#list(part, view) : [part])));
      return [term, detail];
    });
    this.find("facts").replaceChildren(...rows);
  }

  // The items, and a button that shows all of them, or few again.
  #list({ items, most }, view) {
    if (items.length <= most) return [items.join(", ")];
    const button = document.createElement("button");
    button.type = "button";
    button.className = "more";
    button.textContent = this.open ? "fewer" : `and ${items.length - most} more`;
    button.setAttribute("aria-expanded", `${this.open}`);
    button.addEventListener("click", () => {
      this.open = !this.open;
      const place = [...this.find("facts").querySelectorAll(".more")].indexOf(button);
      this.show(view);
      this.find("facts").querySelectorAll(".more")[place]?.focus();
    });
    return [`${items.slice(0, this.open ? items.length : most).join(", ")} `, button];
  }
}
