// The parts of the grid around its rows: bars, head, states, the effect on the report, and the keys.

const MAX_EFFECTS = 30;
const HEADS = [
  ["merchant", "Payee"], ["count", "Transactions"], ["amount", "Amount"], ["category", "Category"],
];
const KEYS = [
  ["\u2191 \u2193 PgUp PgDn", "move"], ["Space", "tick; with Shift up to here"], ["Shift+\u2191 \u2193", "tick while moving"],
  ["Ctrl+A, Esc", "tick all that is found, untick all"], ["\u2190 \u2192", "fold, unfold"],
  ["a letter, Enter", "type a category for what is ticked, or for this row"], ["Ctrl+Enter", "accept"],
  ["Delete, Backspace", "skip, decide again"], ["Ctrl+D", "repeat the category above"],
  ["Ctrl+Z, Ctrl+Y", "undo, redo"], ["/", "search"],
];

const searchBar = (view) => {
  const bar = element("div", "bar");
  const { shown, store } = view;
  view.search = element("input", "search", { type: "search", placeholder: "Search payee, text, amount, day", value: shown.query });
  attributes(view.search, { "aria-label": "Search" });
  view.search.addEventListener("input", () => view.find({ query: view.search.value }));
  view.search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") { view.grid.focus(); event.preventDefault(); }
  });
  const states = Object.entries(STATES).map(([key, [label]]) => [key, label]);
  const accounts = [...new Set(store.rows.account)].map((one) => store.texts[one]).sort().map((one) => [one, one]);
  bar.append(
    view.search, select("Show", states, shown.state, (state) => view.find({ state })),
    select("Account", [["", "All accounts"], ...accounts], shown.account, (account) => view.find({ account })));
  return bar;
};

const select = (label, choices, value, choose) => {
  const select = element("select");
  attributes(select, { "aria-label": label });
  select.append(...choices.map(([key, text]) => element("option", "", { value: key }, text)));
  select.value = value;
  select.addEventListener("change", () => choose(select.value));
  return select;
};

const actionBar = (view) => {
  const bar = element("div", "bar actions");
  view.box = new CategoryBox(view.store.categories, `${view.prefix}-category`, {
    choose: (category) => view.act("assign", { category }),
    leave: () => view.grid.focus(),
  });
  const place = element("div", "place");
  place.append(view.box.input, view.box.list);
  view.buttons = {};
  const button = (action, label, press) => {
    const made = element("button", "", { type: "button" }, label);
    made.dataset.action = action;
    made.addEventListener("click", press);
    view.buttons[action] = made;
    return made;
  };
  bar.append(
    place,
    button("accept", "Accept", () => view.act("accept")), button("skip", "Skip", () => view.act("skip")),
    button("clear", "Decide again", () => view.act("clear")), button("repeat", "Repeat above", () => view.repeat()),
    button("rule", "Make a rule", () => view.makeRule()),
    button("undo", "Undo", () => view.send("undo")), button("redo", "Redo", () => view.send("redo")));
  return bar;
};

const gridElement = (view) => {
  view.grid = element("div", "grid", { role: "grid", tabIndex: 0 });
  attributes(view.grid, { "aria-label": "Transactions to review", "aria-multiselectable": "true", "aria-colcount": 6 });
  const head = element("div", "row head", { role: "row" });
  attributes(head, { "aria-rowindex": 1 });
  view.allTicked = element("div", "cell tick", { role: "columnheader" });
  view.allTicked.append(element("span", "box"), element("span", "hidden", {}, "Tick all"));
  view.allTicked.addEventListener("click", () => view.tickAll());
  view.heads = HEADS.map(([column, label]) => {
    const made = element("div", `cell ${column}`, { role: "columnheader" });
    const button = element("button", "", { type: "button", tabIndex: -1 }, label);
    button.addEventListener("click", () => view.sortBy(column));
    made.append(button);
    return made;
  });
  const last = element("div", "cell acts", { role: "columnheader" });
  last.append(element("span", "hidden", {}, "Actions"));
  head.append(view.allTicked, ...view.heads, last);
  const [top, body] = [element("div", "top", { role: "rowgroup" }), element("div", "body", { role: "rowgroup" })];
  top.append(head);
  view.body = body;
  view.grid.append(top, body);
  view.grid.addEventListener("scroll", () => requestAnimationFrame(() => view.draw(false)));
  view.grid.addEventListener("keydown", (event) => view.press(event));
  body.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // no text is marked
  body.addEventListener("click", (event) => view.click(event));
  view.root.addEventListener("keydown", (event) => {
    if (view.root.hasAttribute("data-lm-suppress-shortcuts")) event.stopPropagation();
  });
  return view.grid;
};

const states = (view) => {
  const place = element("div", "states");
  view.status = element("p", "status", { role: "status" });
  view.ticks = element("p", "ticks");
  view.cleared = element("p", "cleared");
  place.append(view.ticks, view.cleared, view.status);
  return place;
};

const effectTable = (view) => {
  const details = element("details", "effect", { open: true });
  view.effect = element("tbody");
  const [table, head] = [element("table"), element("thead")];
  const row = element("tr");
  row.append(...["Ledger", "Transactions", "Net cash flow"].map((text) => element("th", "", { scope: "col" }, text)));
  head.append(row);
  table.append(head, view.effect);
  details.append(element("summary", "", {}, "Effect on the cash flow report"), table);
  return details;
};

const effectRows = (effects) => {
  const tableRow = (...cells) => {
    const row = element("tr");
    row.append(...cells);
    return row;
  };
  const rows = effects.slice(0, MAX_EFFECTS).map(([name, amount, count]) =>
    tableRow(element("th", "", { scope: "row" }, name), element("td", "", {}, count), element("td", "", {}, amount)));
  const more = effects.length - MAX_EFFECTS;
  return more > 0 ? [...rows, tableRow(element("td", "", { colSpan: 3 }, `and ${plural(more, "more ledger")}`))] : rows;
};

const noteList = (notes) => {
  const place = element("div", "notes");
  place.append(...notes.map((note) => element("p", "", {}, note)));
  return place;
};

const keyList = () => {
  const details = element("details", "keys");
  const list = element("dl");
  for (const [keys, text] of KEYS) list.append(element("dt", "", {}, keys), element("dd", "", {}, text));
  details.append(element("summary", "", {}, "Keys"), list);
  return details;
};
