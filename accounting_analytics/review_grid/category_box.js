// A box that completes a category while it is typed, by its name and path.

const MAX_CHOICES = 50;

// Categories that fit what is typed: first that of this name, then those whose name begins with it, then those of whose
// name and then path each word begins one, then those that have it anywhere.
const fitting = (categories, typed) => {
  const text = typed.toLowerCase().trim();
  const words = text.split(/[\s:]+/).filter(Boolean);
  const begin = (parts) => words.every((word) => parts.some((part) => part.startsWith(word)));
  const ranked = [];
  categories.forEach(([name, path], number) => {
    const [low, whole] = [name.toLowerCase(), path.toLowerCase()];
    const ranks = [
      low === text, low.startsWith(text), begin(low.split(/[\s&/-]+/)), begin(whole.split(/[\s:&/-]+/)),
      words.every((word) => whole.includes(word)),
    ];
    const rank = ranks.indexOf(true);
    if (rank >= 0) ranked.push([rank, number]);
  });
  return ranked.sort(([one, first], [other, second]) => one - other || first - second).map(([, number]) => number);
};

class CategoryBox {
  // `choose` is called with the number of a category, `leave` when the box is left without one.
  constructor(categories, id, { choose, leave }) {
    Object.assign(this, { categories, id, choose, leave, found: [], active: 0 });
    this.input = element("input", "category", {
      type: "text", role: "combobox", id, autocomplete: "off", spellcheck: false, placeholder: "Type a category",
    });
    this.list = element("ul", "choices", { role: "listbox", id: `${id}-list`, hidden: true });
    this.list.setAttribute("aria-label", "Categories");
    attributes(this.input, {
      "aria-expanded": "false", "aria-controls": this.list.id, "aria-autocomplete": "list", "aria-label": "Category",
    });
    this.input.addEventListener("input", () => this.open());
    this.input.addEventListener("focus", () => this.input.value && this.open());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the box keeps the focus
      const option = event.target.closest("[role=option]");
      if (option) this.take(Number(option.dataset.number));
    });
  }

  open() {
    this.found = fitting(this.categories, this.input.value).slice(0, MAX_CHOICES);
    this.active = 0;
    this.draw();
  }

  draw() {
    this.list.replaceChildren(...this.found.map((number, place) => {
      const [name, path] = this.categories[number];
      const option = element("li", "", { role: "option", id: `${this.id}-${place}` });
      attributes(option, { "aria-selected": String(place === this.active) });
      option.dataset.number = number;
      option.append(element("span", "name", {}, name));
      if (path !== name) option.append(element("span", "path", {}, path));
      return option;
    }));
    const isOpen = this.found.length > 0;
    this.list.hidden = !isOpen;
    attributes(this.input, { "aria-expanded": String(isOpen) });
    if (isOpen) attributes(this.input, { "aria-activedescendant": `${this.id}-${this.active}` });
    else this.input.removeAttribute("aria-activedescendant");
    this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.found = [];
    this.draw();
  }

  move(step) {
    if (!this.found.length) this.open();
    else {
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.draw();
    }
  }

  take(number) {
    this.input.value = "";
    this.close();
    this.choose(number);
  }

  press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey && this.found.length && this.input.value)) {
      if (this.found.length && this.input.value.trim()) this.take(this.found[this.active]);
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.close();
      this.leave();
    } else return;
    event.preventDefault();
  }
}
