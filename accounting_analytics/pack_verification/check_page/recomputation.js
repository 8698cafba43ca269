// Figures, calculated from the entries in exact integers.

const divide = (units, divisor) => {
  if (divisor < 0n) return divide(-units, -divisor);
  const rest = ((units % divisor) + divisor) % divisor;
  const quotient = (units - rest) / divisor;
  return quotient + (2n * rest > divisor || (2n * rest === divisor && quotient % 2n !== 0n) ? 1n : 0n);
};

const add = (sums, ledger, units) => sums.set(ledger, (sums.get(ledger) ?? 0n) + units);

// Sum of lines by day and ledger.
const sumDays = (lines) => {
  const days = new Map();
  for (const { day, ledger, units } of lines) {
    if (!days.has(day)) days.set(day, new Map());
    add(days.get(day), ledger, units);
  }
  return days;
};

class Recomputation {
  #known = new Map();
  #sums = new Map();
  #daily;

  constructor(record, entries) {
    this.record = record;
    this.entries = entries;
    this.#daily = [sumDays(entries.lines), sumDays(entries.lines.filter((line) => line.isFlow))];
  }

  // The value of a figure; null where it is not known.
  value(name, key) {
    const place = JSON.stringify([name, key]);
    if (!this.#known.has(place)) {
      this.#known.set(place, undefined);
      this.#known.set(place, this.#calculate(name, key));
    }
    const value = this.#known.get(place);
    return value === undefined ? refuse("it is made of itself, or of what cannot be calculated") : value;
  }

  #calculate(name, key) {
    const table = own(this.record.tables, name) ?? refuse(`the record has no table ${name}`);
    const { scale } = this.record;
    if (table.unknown?.includes(key)) return null;
    const stated = own(table.stated, key);
    if (stated !== undefined) return { units: unitsOf(stated), digits: scale };
    const parts = own(table.lines, key);
    if (parts) return { units: this.#sumLines(parts), digits: scale };
    const terms = own(table.terms, key);
    return terms ? this.#combine(name, terms) : this.#sumRow(table, key);
  }

  #sumLines(parts) {
    let total = 0n;
    for (const [factor, numbers] of parts) {
      for (const number of numbers) {
        const line = this.entries.lines[number] ?? refuse("the record refers to a line that does not exist");
        total += BigInt(factor) * line.units;
      }
    }
    return total;
  }

  #combine(name, terms) {
    let units = 0n, digits, isPercent = false;
    for (const [number, [sign, key]] of terms.entries()) {
      const isLast = number === terms.length - 1;
      if (sign === "/count") {
        if (!isLast || !Number.isSafeInteger(key)) refuse("the record divides by something else than a number at the end");
        return key && digits !== undefined ? { units: divide(units, BigInt(key)), digits, isPercent } : null;
      }
      const value = this.value(name, key);
      if (value === null) return null;
      digits ??= value.digits;
      if (value.digits !== digits) refuse("the record combines figures of different kinds");
      isPercent ||= Boolean(value.isPercent);
      if (sign === "/" || sign === "/abs") {
        if (!isLast) refuse("the record divides before the end");
        const size = sign === "/abs" && value.units < 0n ? -value.units : value.units;
        return size ? { units: divide(1000n * units, size), digits: 1, isPercent: true } : null;
      }
      if (sign !== "+" && sign !== "-") refuse("the record has an unknown sign");
      units += sign === "-" ? -value.units : value.units;
    }
    return digits === undefined ? refuse("the record adds no figures") : { units, digits, isPercent };
  }

  #sumRow(table, key) {
    const end = key.lastIndexOf("|");
    const row = own(table.rows, key.slice(0, end)) ?? refuse("the record does not describe how it is calculated");
    const [factor, measure, ledgers] = row;
    const spans = own(own(table.days, measure), key.slice(end + 1)) ?? refuse("the record does not describe how it is calculated");
    if (ledgers.some((ledger) => this.entries.ledgers[ledger] === undefined)) refuse("the record refers to a ledger that does not exist");
    let total = 0n;
    for (const [spanFactor, first, last] of spans) {
      const sums = this.#sumsByLedger(first, last, measure.startsWith("flow"));
      for (const ledger of new Set(ledgers)) total += BigInt(factor * spanFactor) * (sums.get(ledger) ?? 0n);
    }
    return { units: total, digits: this.record.scale };
  }

  // Sum of the lines of some days by ledger.
  #sumsByLedger(first, last, ofFlows) {
    const place = `${first} ${last} ${ofFlows}`;
    if (this.#sums.has(place)) return this.#sums.get(place);
    const sums = new Map();
    for (const [day, ledgers] of this.#daily[ofFlows ? 1 : 0]) {
      if (first <= day && day <= last) for (const [ledger, units] of ledgers) add(sums, ledger, units);
    }
    this.#sums.set(place, sums);
    return sums;
  }
}
