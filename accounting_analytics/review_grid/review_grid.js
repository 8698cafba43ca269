// The grid: its bars, its rows, of which only those in sight are drawn, and its keys.

const ROW_HEIGHT = 44;
const MORE_ROWS = 6; // drawn above and below those in sight
const SAVED_AFTER = 100; // milliseconds after which what is ticked, found and unfolded is saved
const OWN_CONTROLS = ["a", "c", "d", "v", "x", "y", "z", "enter"]; // with Ctrl
let viewCount = 0;

class ReviewView {
  constructor(model, root) {
    this.store = storeOf(model);
    this.model = model;
    this.prefix = `review-${++viewCount}`;
    this.shown = new ShownRows(this.store, JSON.parse(model.get("_view") || "{}"));
    this.active = 0;
    this.anchor = 0;
    this.drawn = new Map();
    this.root = element("div", "accounting-analytics-review");
    this.root.append(searchBar(this), actionBar(this), gridElement(this), states(this), effectTable(this),
      noteList(this.store.notes), keyList());
    root.append(this.root);
    this.listener = (change) => this.hear(change);
    this.store.listeners.add(this.listener);
    this.keys = (event) => this.keep(event);
    addEventListener("keydown", this.keys, true);
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.grid);
    this.update();
  }

  remove() {
    this.store.listeners.delete(this.listener);
    removeEventListener("keydown", this.keys, true);
    this.sizes.disconnect();
    clearTimeout(this.saving);
  }

  // Something changed in the kernel, or it does not answer.
  hear({ waiting }) {
    if (waiting) this.say("Waiting for the kernel: it is busy, or was restarted.");
    else {
      this.shown.refresh();
      this.update();
    }
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
    const ascending = sort.column === column ? !sort.ascending : column === "merchant" || column === "category";
    this.find({ sort: { column, ascending } });
  }

  async send(action, content) {
    const { text, error } = await this.store.ask(action, content);
    this.say(text, error);
    return !error;
  }

  // Do something to what is ticked, or to the row where the keyboard is; then go on to the next row to decide.
  async act(action, content = {}, keys = this.shown.keys(this.entry)) {
    const wasTicked = this.shown.ticked.includes(1);
    this.grid.focus({ preventScroll: true });
    if (!await this.send(action, { ...keys, ...content })) return;
    this.shown.untick();
    if (!wasTicked && this.shown.list[this.active] === this.before) this.move(1);
    this.update();
  }

  get entry() {
    this.before = this.shown.list[this.active];
    return this.before;
  }

  // The category of the nearest decided row above, or the last one above what is ticked.
  repeat() {
    const { list, ticked, store } = this.shown;
    const isTicked = (entry) => this.shown.rowsOf(entry).some((row) => ticked[row]);
    let place = ticked.includes(1) ? list.findIndex(isTicked) : this.active;
    while (--place >= 0) {
      const { chosen } = store.summary(this.shown.rowsOf(list[place]));
      if (chosen.size === 1) {
        this.act("assign", { category: chosen.keys().next().value });
        return;
      }
    }
    this.say("No row above has one category.", true);
  }

  makeRule() {
    const { groups, rows } = this.shown.keys(this.entry);
    const members = [...groups.map((group) => this.store.start(group)), ...rows];
    if (new Set(members.map((row) => this.store.groupOf[row])).size === 1) this.send("rule", { rows: [members[0]] });
    else this.say("Tick one group, or go to it: a rule is made for one payee.", true);
  }

  tickAll() {
    this.shown.tickAll(this.allTick() === 2 ? 0 : 1);
    this.update();
  }

  allTick() {
    let [found, ticked] = [0, 0];
    for (let row = 0; row < this.store.count; row++) {
      found += this.shown.isFound[row];
      ticked += this.shown.isFound[row] & this.shown.ticked[row];
    }
    return ticked === 0 ? 0 : ticked < found ? 1 : 2;
  }

  // Tick all rows from the anchor to a place, as the anchor is ticked.
  tickTo(place) {
    const [first, last] = [Math.min(this.anchor, place), Math.max(this.anchor, place)];
    this.shown.tick(this.shown.list.slice(first, last + 1), 1);
  }

  tickAt(place) {
    const rows = this.shown.rowsOf(this.shown.list[place]);
    this.shown.tick([this.shown.list[place]], this.shown.tickOf(rows) === 2 ? 0 : 1);
    this.anchor = place;
  }

  move(step) { this.go(this.active + step); }

  go(place) {
    this.active = Math.max(0, Math.min(place, this.shown.list.length - 1));
    const [top, height] = [this.active * ROW_HEIGHT, this.grid.clientHeight - this.grid.firstChild.offsetHeight];
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    if (top + ROW_HEIGHT > this.grid.scrollTop + height) this.grid.scrollTop = top + ROW_HEIGHT - height;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
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
    if (button?.matches(".act")) this.actOn(button.dataset.action, entry);
  }

  // Do something to one row, whatever is ticked.
  async actOn(action, entry) {
    const rows = new Set(this.shown.rowsOf(entry));
    await this.send(action, this.shown.keysOf((row) => rows.has(row)));
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
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW_HEIGHT) - 2);
    const end = this.shown.list.length;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -end, End: end };
    const controls = {
      a: () => this.shown.tickAll(1), d: () => this.repeat(), z: () => this.send(shiftKey ? "redo" : "undo"),
      y: () => this.send("redo"), Enter: () => this.act("accept"),
    };
    const keys = {
      " ": () => (shiftKey ? this.tickTo(this.active) : this.tickAt(this.active)),
      Escape: () => this.shown.untick(), ArrowLeft: () => this.fold(false), ArrowRight: () => this.fold(true),
      Delete: () => this.act("skip"), Backspace: () => this.act("clear"), Enter: () => this.box.input.focus(),
      "/": () => this.search.focus(),
    };
    if (event.altKey || (key === "Tab")) return;
    if (key in steps && !isControl) {
      if (shiftKey && Math.abs(steps[key]) < end) this.tickTo(this.active);
      else this.anchor = Math.max(0, Math.min(this.active + steps[key], end - 1));
      this.move(steps[key]);
      if (shiftKey) this.tickTo(this.active);
    } else if (isControl) {
      const control = controls[key] ?? controls[key.toLowerCase()];
      if (!control) return;
      control();
    } else if (key in keys) keys[key]();
    else if (key.length === 1) {
      this.box.input.focus(); // the letter is typed there
      return;
    } else return;
    event.preventDefault();
    this.update();
  }

  // Draw everything anew that may have changed.
  update() {
    const { shown, store, grid } = this;
    this.active = Math.max(0, Math.min(this.active, shown.list.length - 1));
    this.body.style.height = `${shown.list.length * ROW_HEIGHT}px`;
    attributes(grid, { "aria-rowcount": shown.list.length + 1 });
    this.heads.forEach((head, place) => {
      const isSorted = HEADS[place][0] === shown.sort.column;
      attributes(head, { "aria-sort": !isSorted ? "none" : shown.sort.ascending ? "ascending" : "descending" });
    });
    this.allTicked.className = `cell tick tick${this.allTick()}`;
    this.draw();
    this.drawStates();
    this.save();
  }

  // Draw the rows in sight. Elements that stay as they are stay in place, so that a press that began on one ends there.
  draw(isChanged = true) {
    const { shown, grid, body } = this;
    const [above, rows] = [grid.scrollTop / ROW_HEIGHT, new Map()];
    const first = Math.max(0, Math.floor(above) - MORE_ROWS);
    const last = Math.min(shown.list.length, Math.ceil(above + grid.clientHeight / ROW_HEIGHT) + MORE_ROWS);
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
    row.style.top = `${index * ROW_HEIGHT}px`;
    row.classList.toggle("active", index === this.active);
    return row;
  }

  drawStates() {
    const { store } = this;
    const { state } = store;
    const ticked = this.shown.tickedSummary();
    const hidden = ticked.hidden ? ` (${ticked.hidden.toLocaleString("en")} not shown)` : "";
    this.ticks.textContent = ticked.count
      ? `Ticked: ${plural(ticked.groups, "group")}, ${plural(ticked.count, "transaction")}${hidden}, ${store.amount(ticked.units)}`
      : "Nothing is ticked: keys and buttons act on the marked row";
    this.cleared.textContent =
      `Cleared: ${state.cleared} of ${state.rows} transactions, ${state.cleared_amount} of ${state.amount} (${state.percent} %), ${plural(state.decisions, "decision")}`;
    for (const action of ["undo", "redo"]) {
      this.buttons[action].disabled = !state[action];
      this.buttons[action].title = state[action];
    }
    this.effect.replaceChildren(...effectRows(state.effect));
  }

  save() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      this.model.set("_view", JSON.stringify(this.shown.saved()));
      this.model.save_changes();
    }, SAVED_AFTER);
  }
}

export default {
  render({ model, el }) {
    const view = new ReviewView(model, el);
    return () => view.remove();
  },
};
