// Figures, calculated from the lines of the page in exact integers; the tables of the page unfold what is behind them.

const unpacked = (text) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

const readData = async () => {
  const data = JSON.parse(await unpacked(document.getElementById("pack-data").textContent));
  data.lines = data.lines.map(([ledger, date, text, opposing, units, part]) => {
    return { ledger, day: data.dates[date], text, opposing, units: BigInt(units), part };
  });
  return data;
};

class Figures {
  #known = new Map();
  #byLedger = new Map();

  constructor(data) {
    Object.assign(this, { tables: data.tables, scale: data.scale, amountsIn: data.amounts_in, ledgers: data.ledgers, texts: data.texts, lines: data.lines });
    for (const line of data.lines) {
      if (!this.#byLedger.has(line.ledger)) this.#byLedger.set(line.ledger, []);
      this.#byLedger.get(line.ledger).push(line);
    }
  }

  // What the page states about a figure: its kind, its label, and its parts.
  #stated(table, key) { return this.tables[table].figures[key]; }

  label(table, key) { return this.#stated(table, key)[1]; }

  // Sign and key of what a figure is made of; undefined of one that is a sum of lines, or stated.
  terms(table, key) {
    const [kind, , parts, whole] = this.#stated(table, key);
    if (kind === "quotient") return [["+", parts], ["/", whole]];
    return kind === "terms" ? parts : undefined;
  }

  // A figure that is another by a third, in percent unless it states how: its units of some fraction digits, half to
  // even, and what follows them; undefined of others.
  quotient(table, key) {
    const [kind, , part, whole, times = 100, digits = 1, suffix = "%"] = this.#stated(table, key);
    if (kind !== "quotient") return undefined;
    const [above, below] = [this.units(table, part), this.units(table, whole)];
    const sizes = [BigInt(times) * 10n ** BigInt(digits) * above, below].map((one) => (one < 0n ? -one : one));
    const [quotient, twice] = [sizes[0] / sizes[1], 2n * (sizes[0] % sizes[1])];
    const size = quotient + (twice > sizes[1] || (twice === sizes[1] && quotient % 2n === 1n) ? 1n : 0n);
    return { units: (above < 0n) === (below < 0n) ? size : -size, digits, suffix };
  }

  // The lines of a figure, each with its factor.
  signedLines(table, key) {
    const [kind, , parts] = this.#stated(table, key);
    if (kind === "lines") return parts.flatMap(([sign, first, last]) => this.lines.slice(first, last + 1).map((line) => [sign, line]));
    if (kind !== "sum") return [];
    return parts.flatMap(([factor, wanted, first, last, ledgers]) => {
      const isOn = ({ day, part }) => first <= day && day <= last && (wanted === 0 || part === wanted);
      return [...new Set(ledgers)].flatMap((one) => (this.#byLedger.get(one) ?? []).filter(isOn).map((line) => [factor, line]));
    });
  }

  // Its entries as people read them, by day.
  entries(table, key) {
    const found = this.signedLines(table, key).map(([factor, { day, text, ledger, opposing, units }]) => {
      return { day, text: this.texts[text], ledger: this.ledgers[ledger], opposing: this.texts[opposing], amount: BigInt(factor) * units };
    });
    return found.sort((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0));
  }

  // Its exact units; null where it is not known.
  units(table, key) {
    const place = JSON.stringify([table, key]);
    if (!this.#known.has(place)) this.#known.set(place, this.#calculate(table, key));
    return this.#known.get(place);
  }

  #calculate(table, key) {
    const [kind, , parts] = this.#stated(table, key);
    if (kind === "unknown") return null;
    if (kind === "stated") return BigInt(parts);
    if (kind !== "terms") return this.signedLines(table, key).reduce((total, [factor, { units }]) => total + BigInt(factor) * units, 0n);
    const terms = parts.map(([sign, part]) => [sign, this.units(table, part)]);
    if (terms.some(([, units]) => units === null)) return null;
    return terms.reduce((total, [sign, units]) => (sign === "-" ? total - units : total + units), 0n);
  }
}

let readFigures;
window.accountingAnalyticsPack = () => (readFigures ??= readData().then((data) => new Figures(data)));
