// What the kernel knows about each row, and what one view shows of the rows: found, sorted, unfolded and ticked.

const OPEN = -1;
const ANSWERED_AFTER = 2000; // milliseconds without an answer, after which the grid says that it waits
const STATES = {
  all: ["All", () => true],
  open: ["To decide", (chosen) => chosen === OPEN],
  proposed: ["Proposed", (chosen, proposed) => chosen === OPEN && proposed >= 0],
  unknown: ["Without proposal", (chosen, proposed) => chosen === OPEN && proposed < 0],
  decided: ["Decided", (chosen) => chosen >= 0],
  skipped: ["Skipped", (chosen) => chosen < OPEN],
};

// The text of exact units, as Python writes amounts.
const amountText = (units, scale) => {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  const end = digits.length - scale;
  const whole = digits.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${units < 0n ? "-" : ""}${whole}${scale ? `.${digits.slice(end)}` : ""}`;
};

// The record of the kernel: columns that never change, and what is chosen for each row.
class Store {
  constructor(model) {
    Object.assign(this, model.get("_columns"), { model, listeners: new Set(), pending: new Map(), request: 0 });
    this.count = this.rows.units.length;
    this.units = this.rows.units.map(BigInt);
    this.groupCount = this.groups.kind.length;
    this.groupOf = new Int32Array(this.count);
    this.groupUnits = this.groups.kind.map((_, group) => {
      this.groupOf.fill(group, this.start(group), this.end(group));
      return this.sum(this.rowsOf(group));
    });
    model.on("change:_state", () => this.load());
    model.on("msg:custom", (answer) => {
      this.pending.get(answer.request)?.(answer);
      this.pending.delete(answer.request);
    });
    this.load();
  }

  load() {
    const { buffer, byteOffset, byteLength } = this.model.get("_chosen");
    this.chosen = new Int32Array(buffer.slice(byteOffset, byteOffset + byteLength));
    this.state = this.model.get("_state");
    this.tell({});
  }

  tell(change) { for (const listener of this.listeners) listener(change); }
  start(group) { return this.groups.start[group]; }
  end(group) { return this.groups.start[group + 1]; }
  rowsOf(group) { return Array.from({ length: this.end(group) - this.start(group) }, (_, row) => this.start(group) + row); }
  sum(rows) { return rows.reduce((sum, row) => sum + this.units[row], 0n); }
  amount(units) { return amountText(units, this.scale); }

  // Counts of what is chosen and proposed in some rows, by category; `missing` are open rows without a proposal.
  summary(rows) {
    const found = { open: 0, proposed: new Map(), missing: [], skipped: 0, chosen: new Map(), byHand: false, why: "" };
    const add = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const row of rows) {
      const [chosen, proposed] = [this.chosen[row], this.rows.proposed[row]];
      if (chosen >= 0) {
        add(found.chosen, chosen);
        found.byHand ||= chosen !== proposed;
      } else if (chosen !== OPEN) found.skipped++;
      else {
        found.open++;
        if (proposed >= 0) add(found.proposed, proposed);
        else found.missing.push(row);
      }
      if (proposed >= 0 && (chosen < 0 || chosen === proposed)) found.why ||= this.rows.why[row];
    }
    return found;
  }

  // Ask the kernel to do something; the answer is a text, and whether it is an error.
  ask(action, content = {}) {
    const request = ++this.request;
    const answered = new Promise((resolve) => this.pending.set(request, resolve));
    setTimeout(() => this.pending.has(request) && this.tell({ waiting: true }), ANSWERED_AFTER);
    this.model.send({ action, request, ...content });
    return answered;
  }
}

const stores = new WeakMap();

const storeOf = (model) => {
  if (!stores.has(model)) stores.set(model, new Store(model));
  return stores.get(model);
};

// What one view shows. An entry of its list is a row, or ~group.
class ShownRows {
  constructor(store, view) {
    this.store = store;
    this.query = String(view.query ?? "");
    this.state = view.state in STATES ? view.state : "all";
    this.account = String(view.account ?? "");
    this.sort = view.sort ?? { column: "amount", ascending: false };
    this.unfolded = new Set(view.unfolded ?? []);
    this.ticked = new Uint8Array(store.count);
    for (const group of view.groups ?? []) this.ticked.fill(1, store.start(group), store.end(group));
    for (const row of view.rows ?? []) this.ticked[row] = 1;
    this.refresh();
  }

  // What a page that is loaded again restores.
  saved() {
    const { query, state, account, sort } = this;
    return { query, state, account, sort, unfolded: [...this.unfolded], ...this.keysOf(this.tickedRows()) };
  }

  // Text in which words are searched; made when a word is first searched.
  searched(row) {
    const { store } = this;
    this.haystack ??= store.units.map((units, one) => {
      const amount = store.amount(units);
      const { description, day } = store.rows;
      const texts = [store.groups.counterparty[store.groupOf[one]], description[one], day[one], amount];
      return [...texts, amount.replaceAll(",", "")].join(" ").toLowerCase();
    });
    return this.haystack[row];
  }

  refresh() {
    const { store } = this;
    const { proposed, account } = store.rows;
    const isState = STATES[this.state][1];
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    this.isFound = store.units.map((_, row) =>
      isState(store.chosen[row], proposed[row]) && (!this.account || account[row] === this.account) &&
      words.every((word) => this.searched(row).includes(word)));
    this.found = new Map();
    for (let group = 0; group < store.groupCount; group++) {
      const rows = store.rowsOf(group).filter((row) => this.isFound[row]);
      if (rows.length) this.found.set(group, rows);
    }
    this.list = this.ordered([...this.found.keys()]).flatMap((group) =>
      this.unfolded.has(group) ? [~group, ...this.found.get(group)] : [~group]);
  }

  // Groups by the chosen column; without another choice in the order of the kernel, in which splits are last.
  ordered(groups) {
    const { column, ascending } = this.sort;
    const { store } = this;
    if (column === "amount" && !ascending) return groups;
    const name = (numbers) => [...numbers.keys()].map((one) => store.categories[one][1]).sort().join();
    const keys = {
      counterparty: (group) => store.groups.counterparty[group].toLowerCase(),
      count: (group) => this.found.get(group).length,
      amount: (group) => Math.abs(Number(store.groupUnits[group])),
      category: (group) => {
        const found = store.summary(this.found.get(group));
        return name(found.chosen) || name(found.proposed) || "\uffff";
      },
    };
    const key = new Map(groups.map((group) => [group, keys[column](group)]));
    const sign = ascending ? 1 : -1;
    return groups.sort((one, other) => {
      const [first, second] = [key.get(one), key.get(other)];
      return first < second ? -sign : first > second ? sign : one - other;
    });
  }

  groupOf(entry) { return entry < 0 ? ~entry : this.store.groupOf[entry]; }
  rowsOf(entry) { return entry < 0 ? this.found.get(~entry) ?? [] : [entry]; }

  toggle(group) {
    if (!this.unfolded.delete(group)) this.unfolded.add(group);
    this.refresh();
  }

  // 0: nothing is ticked; 1: some rows are; 2: all are.
  tickOf(rows) {
    const count = rows.reduce((sum, row) => sum + this.ticked[row], 0);
    return count === 0 ? 0 : count < rows.length ? 1 : 2;
  }

  foundRows() { return [...this.found.values()].flat(); }
  tickedRows() { return [...this.ticked.keys()].filter((row) => this.ticked[row]); }
  tick(rows, value) { for (const row of rows) this.ticked[row] = value; }
  untick() { this.ticked.fill(0); }

  // Rows as whole groups, and single rows.
  keysOf(rows) {
    const members = Map.groupBy(rows, (row) => this.store.groupOf[row]);
    const isWhole = ([group, found]) => found.length === this.store.end(group) - this.store.start(group);
    const [whole, parts] = [[...members].filter(isWhole), [...members].filter((one) => !isWhole(one))];
    return { groups: whole.map(([group]) => group), rows: parts.flatMap(([, found]) => found) };
  }

  // Ids of whole groups, and of single transactions, as the kernel is asked about them.
  idsOf(found) {
    const { groups, rows } = this.keysOf(found);
    return [...groups.map((group) => this.store.groups.id[group]), ...rows.map((row) => this.store.rows.id[row])];
  }

  // What an action is about: what is ticked, or else the entry where the keyboard is.
  taken(entry) {
    const ticked = this.tickedRows();
    return ticked.length || entry === undefined ? ticked : this.rowsOf(entry);
  }
}
