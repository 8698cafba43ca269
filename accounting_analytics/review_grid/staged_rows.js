// What the kernel knows: the rows of the review, which never change, and what is staged for each.

const OPEN = -1;
const ANSWERED_AFTER = 2000; // milliseconds without an answer, after which the grid says that it waits

const numbersOf = (view) => new Int32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

// The text of exact units, as Python writes amounts.
const amountText = (units, scale) => {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  const end = digits.length - scale;
  const whole = digits.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${units < 0n ? "-" : ""}${whole}${scale ? `.${digits.slice(end)}` : ""}`;
};

class StagedRows {
  constructor(model) {
    const columns = JSON.parse(new TextDecoder().decode(model.get("_columns")));
    Object.assign(this, columns, { model, listeners: new Set(), pending: new Map(), request: 0 });
    this.count = this.rows.units.length;
    this.units = this.rows.units.map(BigInt);
    this.groupCount = this.groups.kind.length;
    this.groupOf = new Int32Array(this.count);
    this.groupUnits = this.groups.kind.map((_, group) => {
      let sum = 0n;
      for (let row = this.start(group); row < this.end(group); row++) {
        this.groupOf[row] = group;
        sum += this.units[row];
      }
      return sum;
    });
    this.chosen = numbersOf(model.get("_staged"));
    this.state = model.get("_state");
    model.on("msg:custom", (content, buffers) => this.receive(content, buffers));
    this.ask("state"); // what changed while the page was loading
  }

  start(group) { return this.groups.start[group]; }
  end(group) { return this.groups.start[group + 1]; }
  text(column, row) { return this.texts[this.rows[column][row]]; }
  merchant(group) { return this.texts[this.groups.merchant[group]]; }
  amount(units) { return amountText(units, this.scale); }
  isSplit(group) { return this.groups.kind[group] === "split"; }

  // Counts of what is chosen and proposed in some rows, by category.
  summary(rows) {
    const found = { open: 0, proposed: new Map(), skipped: 0, chosen: new Map(), byHand: false, why: -1 };
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
      }
      if (proposed >= 0 && found.why < 0 && (chosen < 0 || chosen === proposed)) found.why = row;
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

  receive(content, buffers) {
    const { kind, state, request } = content;
    if (kind === "answer") {
      this.pending.get(request)?.(content);
      this.pending.delete(request);
      return;
    }
    if (kind === "all") this.chosen = numbersOf(buffers[0]);
    else if (state.revision !== this.state.revision + 1) {
      if (state.revision > this.state.revision) this.ask("state");
      return;
    } else {
      const [rows, chosen] = buffers.map(numbersOf);
      rows.forEach((row, place) => { this.chosen[row] = chosen[place]; });
    }
    this.state = state;
    this.tell({});
  }

  tell(change) { for (const listener of this.listeners) listener(change); }
}

const stores = new WeakMap();

const storeOf = (model) => {
  if (!stores.has(model)) stores.set(model, new StagedRows(model));
  return stores.get(model);
};
