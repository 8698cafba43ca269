// Elements of the grid. Texts of the books are only ever the text of an element.

const MONTH = "2025-12".length;
const MAX_EFFECTS = 30;
const MAX_CHOICES = 50;
const MAX_MISSING = 2;
const HEADS = [["counterparty", "Counterparty"], ["count", "Transactions"], ["amount", "Amount"], ["category", "Category"]];
const KEYS = [
  ["\u2191 \u2193 PgUp PgDn", "move"], ["Space", "tick; with Shift up to here"], ["Shift+\u2191 \u2193", "tick while moving"],
  ["Ctrl+A, Esc", "tick all that is found, untick all"], ["\u2190 \u2192", "fold, unfold"],
  ["a letter, Enter", "type a category for what is ticked, or for this row"], ["Ctrl+Enter", "accept"],
  ["Delete, Backspace", "skip, decide again"], ["Ctrl+D", "repeat the category above"],
  ["Ctrl+Z, Ctrl+Y", "undo, redo"], ["/", "search"],
];

// An element with attributes or properties, of texts and elements.
const element = (name, className = "", properties = {}, ...content) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
};

const attributes = (target, values) => {
  for (const [name, value] of Object.entries(values)) target.setAttribute(name, value);
};

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const details = (className, title, content, properties = {}) =>
  element("details", className, properties, element("summary", "", {}, title), content);

const select = (label, choices, value, choose) => {
  const options = choices.map(([key, text]) => element("option", "", { value: key }, text));
  const made = element("select", "", { "aria-label": label }, ...options);
  made.value = value;
  made.addEventListener("change", () => choose(made.value));
  return made;
};

const effectRows = (effects) => {
  const rows = effects.slice(0, MAX_EFFECTS).map(([name, amount, count]) => element(
    "tr", "", {}, element("th", "", { scope: "row" }, name), element("td", "", {}, count), element("td", "", {}, amount)));
  const more = effects.length - MAX_EFFECTS;
  const rest = more > 0 ? [element("td", "", { colSpan: 3 }, `and ${plural(more, "more ledger")}`)] : [];
  return [...rows, ...rest.map((cell) => element("tr", "", {}, cell))];
};

const effectTable = (body) => {
  const heads = ["Ledger", "Transactions", "Net cash flow"].map((text) => element("th", "", { scope: "col" }, text));
  const table = element("table", "", {}, element("thead", "", {}, element("tr", "", {}, ...heads)), body);
  return details("effect", "Effect on the cash flow report", table, { open: true });
};

const keyList = () => details("keys", "Keys", element(
  "dl", "", {}, ...KEYS.flatMap(([keys, text]) => [element("dt", "", {}, keys), element("dd", "", {}, text)])));

const twoLines = (className, first, second, title = "") =>
  element("div", `cell ${className}`, { role: "gridcell", title }, first, element("span", "second", {}, second));

const line = (...content) => element("span", "first", {}, ...content);

// What is chosen for some rows, or else proposed, and why; of mixed proposals how often each, and which rows lack one.
const categoryCell = (store, group, rows, found) => {
  const named = (counts) => {
    const names = [...counts].map(([number, count]) => {
      const [name] = store.categories[number];
      return counts.size > 1 ? `${count.toLocaleString("en")} ${name}` : name;
    });
    return names.sort().join(", ");
  };
  const old = store.rows.old[rows[0]];
  let [first, why] = [line(element("span", "muted", {}, old)), found.why];
  const parts = [];
  if (found.chosen.size) {
    const [arrow, chosen] = [element("span", "arrow", {}, "\u2192"), element("strong", "", {}, named(found.chosen))];
    first = line(element("s", "", {}, old), arrow, chosen);
    if (found.byHand) why = "chosen by hand";
    if (found.open) parts.push(`${found.open.toLocaleString("en")} to decide`);
    if (found.skipped) parts.push(`${found.skipped.toLocaleString("en")} skipped`);
  } else if (found.skipped && !found.open) first = line(element("span", "muted", {}, "Skipped"));
  else if (found.proposed.size) first = line(element("em", "", {}, `${named(found.proposed)}?`));
  else if (store.groups.kind[group] === "split") why = `split: ${store.rows.split[rows[0]]}`;
  if (found.proposed.size && found.missing.length) {
    const described = (row) => `${store.rows.day[row]} ${store.amount(store.units[row])}`;
    const missing = found.missing.slice(0, MAX_MISSING).map(described);
    const more = found.missing.length - MAX_MISSING;
    parts.push(`none for ${missing.join(", ")}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}`);
  }
  first.classList.add("staged");
  const below = [...parts, why].filter(Boolean).join(" \u00b7 ");
  const title = [[...first.children].map((one) => one.textContent).join(" "), below].filter(Boolean).join("\n");
  return twoLines("category", first, below, title);
};

const actionsCell = (found, label) => {
  const button = (action, sign, title) =>
    element("button", "act", { type: "button", tabIndex: -1, title, "data-action": action, "aria-label": title }, sign);
  const cell = element("div", "cell acts", { role: "gridcell" });
  if (found.proposed.size) cell.append(button("accept", "\u2713", `Accept what is proposed for ${label}`));
  if (found.open) cell.append(button("skip", "\u2715", `Skip ${label}`));
  if (found.chosen.size || found.skipped) cell.append(button("clear", "\u21ba", `Decide ${label} again`));
  return cell;
};

const groupTexts = (store, group, rows) => {
  const count = store.end(group) - store.start(group);
  const days = rows.map((row) => store.rows.day[row]).sort();
  const kind = { counterparty: "", transfer: "likely transfer \u00b7 ", split: "split \u00b7 " }[store.groups.kind[group]];
  const other = store.rows.other[rows[0]];
  return {
    label: store.groups.counterparty[group],
    below: `${kind}${store.rows.account[rows[0]]}${other ? ` \u2194 ${other}` : ""}`,
    count: rows.length < count ? `${rows.length} of ${count}` : plural(count, "transaction"),
    days: days[0] === days.at(-1) ? days[0] : `${days[0].slice(0, MONTH)} \u2013 ${days.at(-1).slice(0, MONTH)}`,
  };
};

const rowTexts = (store, row) => ({
  label: store.rows.description[row] || "(no description)",
  below: "", // its group names the account
  count: store.rows.day[row],
  days: "",
});

// One row of the grid: a group, or a transaction below it.
const rowElement = (shown, entry, index, prefix) => {
  const { store } = shown;
  const [group, rows, isGroup] = [shown.groupOf(entry), shown.rowsOf(entry), entry < 0];
  const texts = isGroup ? groupTexts(store, group, rows) : rowTexts(store, entry);
  const [tick, found] = [shown.tickOf(rows), store.summary(rows)];
  const counterparty = twoLines("counterparty", line(texts.label), texts.below, texts.label);
  if (isGroup) {
    const isOpen = shown.unfolded.has(group);
    const label = { "aria-expanded": String(isOpen), "aria-label": `Transactions of ${texts.label}` };
    counterparty.prepend(element("button", "fold", { type: "button", tabIndex: -1, ...label }, isOpen ? "\u25be" : "\u25b8"));
  }
  const ticked = element("span", "hidden", {}, ["not ticked", "partly ticked", "ticked"][tick]);
  const box = element("div", `cell tick tick${tick}`, { role: "gridcell" }, element("span", "box"), ticked);
  const made = element("div", isGroup ? "row group" : "row transaction", { role: "row", id: `${prefix}-${index}` });
  attributes(made, { "data-index": index, "aria-rowindex": index + 2, "aria-selected": String(tick === 2) });
  made.append(
    box, counterparty, twoLines("count", line(texts.count), texts.days),
    twoLines("amount", line(store.amount(store.sum(rows))), ""), categoryCell(store, group, rows, found),
    actionsCell(found, texts.label));
  return made;
};

const nothingFound = () =>
  element("div", "row none", { role: "row" }, element("div", "cell", { role: "gridcell" }, "Nothing is found."));

// Categories that fit what is typed: first that of this name, then those whose name begins with it, then those of whose
// name and then path each word begins one, then those that have it anywhere.
const fitting = (categories, typed) => {
  const text = typed.toLowerCase().trim();
  const words = text.split(/[\s:]+/).filter(Boolean);
  const begin = (parts) => words.every((word) => parts.some((part) => part.startsWith(word)));
  const rank = ([name, path]) => {
    const [low, whole] = [name.toLowerCase(), path.toLowerCase()];
    return [
      low === text, low.startsWith(text), begin(low.split(/[\s&/-]+/)), begin(whole.split(/[\s:&/-]+/)),
      words.every((word) => whole.includes(word)),
    ].indexOf(true);
  };
  return [...Map.groupBy(categories, rank)].filter(([one]) => one >= 0)
    .sort(([one], [other]) => one - other).flatMap(([, found]) => found).slice(0, MAX_CHOICES);
};

// A box that completes a category while it is typed, by its name and path.
class CategoryBox {
  // `choose` is called with the id of a category, or the text where none fits; `leave` when the box is left without one.
  constructor(categories, id, { choose, leave }) {
    Object.assign(this, { categories, id, choose, leave, found: [], active: 0 });
    this.list = element("ul", "choices", { role: "listbox", id: `${id}-list`, hidden: true, "aria-label": "Categories" });
    this.input = element("input", "category", {
      type: "text", role: "combobox", id, autocomplete: "off", spellcheck: false, placeholder: "Type a category",
      "aria-expanded": "false", "aria-controls": this.list.id, "aria-autocomplete": "list", "aria-label": "Category",
    });
    this.input.addEventListener("input", () => this.show(fitting(categories, this.input.value)));
    this.input.addEventListener("focus", () => this.input.value && this.show(fitting(categories, this.input.value)));
    this.input.addEventListener("blur", () => this.show([]));
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the box keeps the focus
      const option = event.target.closest("[role=option]");
      if (option) this.take(option.dataset.category);
    });
  }

  show(found, active = 0) {
    Object.assign(this, { found, active });
    this.list.replaceChildren(...found.map(([name, path, category], place) => {
      const option = element("li", "", { role: "option", id: `${this.id}-${place}`, "data-category": category });
      attributes(option, { "aria-selected": String(place === active) });
      option.append(element("span", "name", {}, name), path === name ? "" : element("span", "path", {}, path));
      return option;
    }));
    const isOpen = found.length > 0;
    this.list.hidden = !isOpen;
    attributes(this.input, { "aria-expanded": String(isOpen), "aria-activedescendant": isOpen ? `${this.id}-${active}` : "" });
    this.list.children[active]?.scrollIntoView({ block: "nearest" });
  }

  take(category) {
    this.input.value = "";
    this.show([]);
    this.choose(category);
  }

  press(event) {
    const { found, active, input } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !found.length) this.show(fitting(this.categories, input.value));
    else if (step) this.show(found, (active + step + found.length) % found.length);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey && found.length && input.value)) {
      if (found.length && input.value.trim()) this.take(found[active][2]);
      else if (input.value.trim()) this.choose(input.value); // the kernel names the nearest
    } else if (event.key === "Escape") {
      input.value = "";
      this.show([]);
      this.leave();
    } else return;
    event.preventDefault();
  }
}
