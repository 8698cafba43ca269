// The grid: its bars, its rows, of which only those in sight are drawn, and its keys.

const MORE_ROWS = 6; // drawn above and below those in sight
const SAVED_AFTER = 100; // milliseconds after which what is ticked, found and unfolded is saved
const NARROW = 900; // pixels below which the text of a row has a line of its own
const OWN_CONTROLS = ["a", "c", "d", "v", "x", "y", "z", "enter"]; // with Ctrl
let viewCount = 0;

class ReviewView {
  constructor(model, root) {
    this.store = storeOf(model);
    this.model = model;
    this.prefix = `review-${++viewCount}`;
    this.shown = new ShownRows(this.store, JSON.parse(model.get("_view") || "{}"));
    Object.assign(this, { active: 0, anchor: 0, drawn: new Map(), buttons: {}, effect: element("tbody") });
    this.root = element(
      "div", "accounting-analytics-review", {}, this.searchBar(), this.actionBar(), this.states(), this.gridElement(),
      effectTable(this.effect), keyList());
    root.append(this.root);
    this.root.addEventListener("keydown", (event) => {
      if (this.root.hasAttribute("data-lm-suppress-shortcuts")) event.stopPropagation();
    });
    this.listener = (change) => this.hear(change);
    this.store.listeners.add(this.listener);
    this.keys = (event) => this.keep(event);
    addEventListener("keydown", this.keys, true);
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.grid);
    this.resize();
  }

  remove() {
    this.store.listeners.delete(this.listener);
    removeEventListener("keydown", this.keys, true);
    this.sizes.disconnect();
    clearTimeout(this.saving);
  }

  searchBar() {
    const { shown, store } = this;
    this.search = element("input", "search", {
      type: "search", placeholder: "Search counterparty, text, amount, day", value: shown.query, "aria-label": "Search",
    });
    this.search.addEventListener("input", () => this.find({ query: this.search.value }));
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "ArrowDown") return;
      this.grid.focus();
      event.preventDefault();
    });
    const states = Object.entries(STATES).map(([key, [label]]) => [key, label]);
    const accounts = [...new Set(store.rows.account)].sort().map((one) => [one, one]);
    return element(
      "div", "bar", {}, this.search, select("Show", states, shown.state, (state) => this.find({ state })),
      select("Account", [["", "All accounts"], ...accounts], shown.account, (account) => this.find({ account })));
  }

  actionBar() {
    this.box = new CategoryBox(this.store.categories, `${this.prefix}-category`, {
      choose: (category) => this.act("assign", { category }), leave: () => this.grid.focus(),
    });
    const actions = {
      accept: ["Accept", () => this.act("accept")], skip: ["Skip", () => this.act("skip")],
      clear: ["Decide again", () => this.act("clear")], repeat: ["Repeat above", () => this.repeat()],
      rule: ["Make a rule", () => this.makeRule()],
      undo: ["Undo", () => this.send("undo")], redo: ["Redo", () => this.send("redo")],
    };
    for (const [action, [label, press]] of Object.entries(actions)) {
      this.buttons[action] = element("button", "", { type: "button", "data-action": action }, label);
      this.buttons[action].addEventListener("click", press);
    }
    const place = element("div", "place", {}, this.box.input, this.box.list);
    return element("div", "bar actions", {}, place, ...Object.values(this.buttons));
  }

  // Totals, status and warnings, above the rows so that they are in sight.
  states() {
    this.status = element("p", "status", { role: "status" });
    [this.ticks, this.cleared] = [element("p", "ticks"), element("p", "cleared")];
    const notes = this.store.notes.map((note) => element("p", "note", {}, note));
    return element("div", "states", {}, this.cleared, this.ticks, this.status, ...notes);
  }

  gridElement() {
    const tickAll = [element("span", "box"), element("span", "hidden", {}, "Tick all")];
    this.allTicked = element("div", "cell tick", { role: "columnheader" }, ...tickAll);
    this.allTicked.addEventListener("click", () => {
      this.shown.tick(this.shown.foundRows(), this.allTick() === 2 ? 0 : 1);
      this.update();
    });
    this.heads = HEADS.map(([column, label]) => {
      const button = element("button", "", { type: "button", tabIndex: -1 }, label);
      button.addEventListener("click", () => this.sortBy(column));
      return element("div", `cell ${column}`, { role: "columnheader" }, button);
    });
    const last = element("div", "cell acts", { role: "columnheader" }, element("span", "hidden", {}, "Actions"));
    this.head = element("div", "row head", { role: "row", "aria-rowindex": 1 }, this.allTicked, ...this.heads, last);
    this.body = element("div", "body", { role: "rowgroup" });
    const top = element("div", "top", { role: "rowgroup" }, this.head);
    this.grid = element("div", "grid", { role: "grid", tabIndex: 0 }, top, this.body);
    attributes(this.grid, { "aria-label": "Transactions to review", "aria-multiselectable": "true", "aria-colcount": 6 });
    this.grid.addEventListener("scroll", () => requestAnimationFrame(() => this.draw(false)));
    this.grid.addEventListener("keydown", (event) => this.press(event));
    this.body.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // no text is marked
    this.body.addEventListener("click", (event) => this.click(event));
    return this.grid;
  }

  resize() {
    this.root.classList.toggle("narrow", this.root.clientWidth < NARROW);
    this.rowHeight = parseFloat(getComputedStyle(this.root).getPropertyValue("--row"));
    this.update();
  }

  // Something changed in the kernel, or it does not answer.
  hear({ waiting }) {
    if (waiting) {
      this.say("Waiting for the kernel: it is busy, or was restarted.");
      return;
    }
    this.shown.refresh();
    this.update();
  }

  say(text, isError = false) {
    this.status.textContent = text;
    this.status.classList.toggle("error", isError);
  }

  find(change) {
    Object.assign(this.shown, change);
    this.shown.refresh();
    [this.active, this.anchor, this.grid.scrollTop] = [0, 0, 0];
    this.update();
  }

  sortBy(column) {
    const { sort } = this.shown;
    const ascending = sort.column === column ? !sort.ascending : column === "counterparty" || column === "category";
    this.find({ sort: { column, ascending } });
  }

  async send(action, content) {
    const { text, error } = await this.store.ask(action, content);
    this.say(text, error);
    return !error;
  }

  // Do something to what is ticked, or to the row where the keyboard is; then go on to the next row to decide.
  async act(action, content = {}) {
    const entry = this.shown.list[this.active];
    const wasTicked = this.shown.ticked.includes(1);
    if (!await this.send(action, { ids: this.shown.idsOf(this.shown.taken(entry)), ...content })) return;
    this.box.input.value = "";
    this.grid.focus({ preventScroll: true });
    this.shown.untick();
    if (!wasTicked && this.shown.list[this.active] === entry) this.go(this.active + 1);
    this.update();
  }

  // The category of the nearest decided row above, or the last one above what is ticked.
  repeat() {
    const { shown, store } = this;
    const isTicked = (entry) => shown.rowsOf(entry).some((row) => shown.ticked[row]);
    let place = shown.ticked.includes(1) ? shown.list.findIndex(isTicked) : this.active;
    while (--place >= 0) {
      const { chosen } = store.summary(shown.rowsOf(shown.list[place]));
      if (chosen.size === 1) {
        this.act("assign", { category: store.categories[chosen.keys().next().value][2] });
        return;
      }
    }
    this.say("No row above has one category.", true);
  }

  makeRule() {
    const rows = this.shown.taken(this.shown.list[this.active]);
    if (new Set(rows.map((row) => this.store.groupOf[row])).size === 1) this.send("rule", { ids: [this.store.rows.id[rows[0]]] });
    else this.say("Tick one group, or go to it: a rule is made for one counterparty.", true);
  }

  allTick() { return this.shown.tickOf(this.shown.foundRows()); }

  // Tick all rows from the anchor to a place.
  tickTo(place) {
    const [first, last] = [Math.min(this.anchor, place), Math.max(this.anchor, place)];
    for (const entry of this.shown.list.slice(first, last + 1)) this.shown.tick(this.shown.rowsOf(entry), 1);
  }

  tickAt(place) {
    const rows = this.shown.rowsOf(this.shown.list[place]);
    this.shown.tick(rows, this.shown.tickOf(rows) === 2 ? 0 : 1);
    this.anchor = place;
  }

  go(place) {
    this.active = Math.max(0, Math.min(place, this.shown.list.length - 1));
    const [top, height] = [this.active * this.rowHeight, this.grid.clientHeight - this.head.offsetHeight];
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    if (top + this.rowHeight > this.grid.scrollTop + height) this.grid.scrollTop = top + this.rowHeight - height;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row?.dataset.index) return;
    const place = Number(row.dataset.index);
    const entry = this.shown.list[place];
    const button = event.target.closest("button");
    this.grid.focus({ preventScroll: true });
    if (event.target.closest(".tick")) {
      if (event.shiftKey) this.tickTo(place);
      else this.tickAt(place);
    } else if (button?.matches(".fold")) this.shown.toggle(~entry);
    this.active = place;
    this.update();
    if (button?.matches(".act")) this.send(button.dataset.action, { ids: this.shown.idsOf(this.shown.rowsOf(entry)) });
  }

  fold(isOpen) {
    const entry = this.shown.list[this.active];
    if (entry === undefined) return;
    const group = this.shown.groupOf(entry);
    if (this.shown.unfolded.has(group) !== isOpen) this.shown.toggle(group);
    this.go(this.shown.list.indexOf(~group));
  }

  // Keep keys from JupyterLab, which has some of its own, but for those such as Ctrl+S that mean nothing here.
  keep(event) {
    if (!this.root.contains(event.target)) return;
    const isKept = !(event.ctrlKey || event.metaKey) || OWN_CONTROLS.includes(event.key.toLowerCase());
    this.root.toggleAttribute("data-lm-suppress-shortcuts", isKept);
  }

  press(event) {
    const { key, shiftKey } = event;
    const isControl = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.rowHeight) - 2);
    const end = this.shown.list.length;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -end, End: end };
    const controls = {
      a: () => this.shown.tick(this.shown.foundRows(), 1), d: () => this.repeat(), y: () => this.send("redo"),
      z: () => this.send(shiftKey ? "redo" : "undo"), enter: () => this.act("accept"),
    };
    const keys = {
      " ": () => (shiftKey ? this.tickTo(this.active) : this.tickAt(this.active)),
      Escape: () => this.shown.untick(), ArrowLeft: () => this.fold(false), ArrowRight: () => this.fold(true),
      Delete: () => this.act("skip"), Backspace: () => this.act("clear"), Enter: () => this.box.input.focus(),
      "/": () => this.search.focus(),
    };
    if (event.altKey || key === "Tab") return;
    if (key in steps && !isControl) {
      if (shiftKey && Math.abs(steps[key]) < end) this.tickTo(this.active);
      else this.anchor = Math.max(0, Math.min(this.active + steps[key], end - 1));
      this.go(this.active + steps[key]);
      if (shiftKey) this.tickTo(this.active);
    } else if (isControl) {
      if (!controls[key.toLowerCase()]) return;
      controls[key.toLowerCase()]();
    } else if (key in keys) keys[key]();
    else {
      if (key.length === 1) this.box.input.focus(); // the letter is typed there
      return;
    }
    event.preventDefault();
    this.update();
  }

  // Draw everything anew that may have changed.
  update() {
    const { shown, grid, store } = this;
    const { state } = store;
    this.active = Math.max(0, Math.min(this.active, shown.list.length - 1));
    this.body.style.height = `${shown.list.length * this.rowHeight}px`;
    attributes(grid, { "aria-rowcount": shown.list.length + 1 });
    this.heads.forEach((head, place) => {
      const isSorted = HEADS[place][0] === shown.sort.column;
      attributes(head, { "aria-sort": !isSorted ? "none" : shown.sort.ascending ? "ascending" : "descending" });
    });
    this.allTicked.className = `cell tick tick${this.allTick()}`;
    this.draw();
    const ticked = shown.tickedRows();
    const groups = new Set(ticked.map((row) => store.groupOf[row])).size;
    const hidden = ticked.filter((row) => !shown.isFound[row]).length;
    const rest = hidden ? ` (${hidden.toLocaleString("en")} not shown)` : "";
    this.ticks.textContent = ticked.length
      ? `Ticked: ${plural(groups, "group")}, ${plural(ticked.length, "transaction")}${rest}, ${store.amount(store.sum(ticked))}`
      : "Nothing is ticked: keys and buttons act on the marked row";
    this.cleared.textContent = state.cleared;
    for (const action of ["undo", "redo"]) {
      Object.assign(this.buttons[action], { disabled: !state[action], title: state[action] });
    }
    this.effect.replaceChildren(...effectRows(state.effect));
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      this.model.set("_view", JSON.stringify(shown.saved()));
      this.model.save_changes();
    }, SAVED_AFTER);
  }

  // Draw the rows in sight. Elements that stay as they are stay in place, so that a press that began on one ends there.
  draw(isChanged = true) {
    const { shown, grid, body, rowHeight } = this;
    const [above, rows] = [grid.scrollTop / rowHeight, new Map()];
    const first = Math.max(0, Math.floor(above) - MORE_ROWS);
    const last = Math.min(shown.list.length, Math.ceil(above + grid.clientHeight / rowHeight) + MORE_ROWS);
    for (let index = first; index < last; index++) {
      const old = this.drawn.get(index);
      const row = old && !isChanged ? old : this.makeRow(index);
      rows.set(index, old?.isEqualNode(row) ? old : row);
    }
    if (!shown.list.length) rows.set(-1, this.drawn.get(-1) ?? nothingFound());
    const kept = new Set(rows.values());
    for (const old of this.drawn.values()) if (!kept.has(old)) old.remove();
    let next = body.firstChild;
    for (const row of kept) {
      if (row === next) next = next.nextSibling;
      else body.insertBefore(row, next);
    }
    this.drawn = rows;
    if (rows.has(this.active)) attributes(grid, { "aria-activedescendant": `${this.prefix}-${this.active}` });
    else grid.removeAttribute("aria-activedescendant");
  }

  makeRow(index) {
    const row = rowElement(this.shown, this.shown.list[index], index, this.prefix);
    row.style.top = `${index * this.rowHeight}px`;
    row.classList.toggle("active", index === this.active);
    return row;
  }
}

export default {
  render({ model, el }) {
    const view = new ReviewView(model, el);
    return () => view.remove();
  },
};
