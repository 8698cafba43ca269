// What one view shows of the rows: found by words, filtered, sorted, unfolded and ticked.

const STATES = {
  all: ["All", () => true],
  open: ["To decide", (chosen) => chosen === OPEN],
  proposed: ["Proposed", (chosen, proposed) => chosen === OPEN && proposed >= 0],
  unknown: ["Without proposal", (chosen, proposed) => chosen === OPEN && proposed < 0],
  decided: ["Decided", (chosen) => chosen >= 0],
  skipped: ["Skipped", (chosen) => chosen < OPEN],
};
const KINDS = ["merchant", "transfer", "split"];

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
    return { query, state, account, sort, unfolded: [...this.unfolded], ...this.tickedKeys() };
  }

  // Text in which words are searched; made when a word is first searched.
  searched(row) {
    this.haystack ??= Array.from({ length: this.store.count }, (_, one) => {
      const { store } = this;
      const amount = store.amount(store.units[one]);
      const names = [store.merchant(store.groupOf[one]), store.text("description", one), store.text("day", one)];
      return [...names, amount, amount.replaceAll(",", "")].join(" ").toLowerCase();
    });
    return this.haystack[row];
  }

  matcher() {
    const { store } = this;
    const { proposed, account } = store.rows;
    const isState = STATES[this.state][1];
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = this.account === "" ? -1 : store.texts.indexOf(this.account);
    return (row) =>
      isState(store.chosen[row], proposed[row]) && (wanted < 0 || account[row] === wanted) &&
      (!words.length || words.every((word) => this.searched(row).includes(word)));
  }

  refresh() {
    const { store } = this;
    const matches = this.matcher();
    this.isFound = new Uint8Array(store.count);
    const counts = new Int32Array(store.groupCount);
    for (let row = 0; row < store.count; row++) {
      if (matches(row)) {
        this.isFound[row] = 1;
        counts[store.groupOf[row]]++;
      }
    }
    this.counts = counts;
    this.list = this.ordered([...counts.keys()].filter((group) => counts[group])).flatMap((group) =>
      this.unfolded.has(group) ? [~group, ...this.foundRows(group)] : [~group]);
  }

  // Groups by the chosen column; without another choice in the order of the kernel, in which splits are last.
  ordered(groups) {
    const { column, ascending } = this.sort;
    const { store } = this;
    if (column === "amount" && !ascending) return groups;
    const name = (numbers) => [...numbers.keys()].map((one) => store.categories[one][1]).sort().join();
    const keys = {
      merchant: (group) => store.merchant(group).toLowerCase(),
      count: (group) => this.counts[group],
      amount: (group) => Number(store.groupUnits[group] < 0n ? -store.groupUnits[group] : store.groupUnits[group]),
      category: (group) => {
        const found = store.summary(this.foundRows(group));
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

  foundRows(group) {
    const rows = [];
    for (let row = this.store.start(group); row < this.store.end(group); row++) if (this.isFound[row]) rows.push(row);
    return rows;
  }

  groupOf(entry) { return entry < 0 ? ~entry : this.store.groupOf[entry]; }
  rowsOf(entry) { return entry < 0 ? this.foundRows(~entry) : [entry]; }

  toggle(group) {
    if (!this.unfolded.delete(group)) this.unfolded.add(group);
    this.refresh();
  }

  // 0: nothing is ticked; 1: some rows are; 2: all are.
  tickOf(rows) {
    const count = rows.reduce((sum, row) => sum + this.ticked[row], 0);
    return count === 0 ? 0 : count < rows.length ? 1 : 2;
  }

  tick(entries, value) {
    for (const entry of entries) for (const row of this.rowsOf(entry)) this.ticked[row] = value;
  }

  tickAll(value) { for (let row = 0; row < this.ticked.length; row++) if (this.isFound[row]) this.ticked[row] = value; }
  untick() { this.ticked.fill(0); }

  keysOf(isTaken) {
    const [groups, rows] = [[], []];
    for (let group = 0; group < this.store.groupCount; group++) {
      const taken = [];
      for (let row = this.store.start(group); row < this.store.end(group); row++) if (isTaken(row)) taken.push(row);
      if (taken.length === this.store.end(group) - this.store.start(group)) groups.push(group);
      else rows.push(...taken);
    }
    return { groups, rows };
  }

  tickedKeys() { return this.keysOf((row) => this.ticked[row]); }

  // What an action is about: what is ticked, or else the entry where the keyboard is.
  keys(entry) {
    if (this.ticked.includes(1)) return this.tickedKeys();
    const rows = new Set(entry === undefined ? [] : this.rowsOf(entry));
    return this.keysOf((row) => rows.has(row));
  }

  tickedSummary() {
    const groups = new Set();
    let [count, hidden, units] = [0, 0, 0n];
    for (let row = 0; row < this.ticked.length; row++) {
      if (!this.ticked[row]) continue;
      count++;
      if (!this.isFound[row]) hidden++;
      units += this.store.units[row];
      groups.add(this.store.groupOf[row]);
    }
    return { count, hidden, units, groups: groups.size };
  }
}
