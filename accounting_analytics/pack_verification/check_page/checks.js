// Figures as text.

const valueText = (value, form) => {
  if (value === null) return NOT_KNOWN;
  const { units, digits } = value;
  const text = String(units < 0n ? -units : units).padStart(digits + 1, "0");
  const end = text.length - digits;
  const whole = text.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = units < 0n && form !== "magnitude" ? "-" : "";
  return `${sign}${whole}${digits ? `.${text.slice(end)}` : ""}${value.isPercent ? "%" : ""}`;
};

const readShown = (text) => {
  text = text.replace(/^[ \t\n\u00a0]+|[ \t\n\u00a0]+$/g, "");
  if (text === NOT_KNOWN || text === ZERO) return text;
  const found = /^(\()?([+\u2212-])?([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(%)?(\))?$/.exec(text);
  if (!found || Boolean(found[1]) !== Boolean(found[5]) || (found[1] && found[2])) return undefined;
  const isNegative = found[1] || (found[2] && found[2] !== "+");
  return `${isNegative ? "-" : ""}${found[3]}${found[4] ?? ""}`;
};

const agrees = (shown, expected) => (shown === ZERO ? expected !== NOT_KNOWN && !/[1-9]/.test(expected) : shown === expected);
const ownText = (element) => trim([...element.childNodes].filter((node) => node.nodeType === TEXT).map((node) => node.data).join(""));
const spaced = (node) => node?.textContent.replace(/\s+/g, " ").trim() ?? "";

// What a figure of a table is, as its row and its column name it.
const labelOf = (element) => {
  const cell = element.closest("td");
  const row = spaced(cell?.parentElement.querySelector("th"));
  const column = spaced(cell?.closest("table").tHead?.rows[0]?.cells[cell.cellIndex]);
  return [row, column].filter(Boolean).join(", ");
};

const tableOf = (element) => element.closest("[data-table]")?.dataset.table ?? "";

// The checks: each returns what is not as it has to be.

const checkFigures = (elements, figures) => {
  const faults = elements.length ? [] : [fault("figures", "the page", "none", "figures")];
  for (const element of elements) {
    const { key, form = "" } = element.dataset;
    const [table, shown] = [tableOf(element), ownText(element)];
    let expected;
    try {
      if (!["", "magnitude"].includes(form)) refuse(`shown as ${form}`);
      expected = valueText(figures.value(table, key), form);
      if (agrees(readShown(shown), expected)) continue;
    } catch (error) {
      expected = `not possible: ${error.message}`;
    }
    faults.push(fault("figure", labelOf(element) || `${table}: ${key}`, shown, expected, element));
  }
  return faults;
};

const checkRows = (elements, record) => {
  const keys = new Map(Object.keys(record.tables).map((name) => [name, new Set()]));
  for (const element of elements) keys.get(tableOf(element))?.add(element.dataset.key);
  return Object.entries(record.tables).filter(([, table]) => table.shown).flatMap(([name, { shown }]) => {
    const expected = new Set(shown.rows.flatMap((row) => shown.columns.map((column) => `${row}|${column}`)));
    const [empty, found] = [new Set(shown.empty), keys.get(name)];
    const missing = [...expected].filter((key) => !found.has(key) && !empty.has(key));
    const surplus = [...found].filter((key) => !expected.has(key) || empty.has(key));
    return [
      ...missing.map((key) => fault("figure of the record", `${name}: ${key}`, "not on the page", "shown")),
      ...surplus.map((key) => fault("figure on the page", `${name}: ${key}`, "shown", "not among those that the record shows")),
    ];
  });
};

const checkFacts = (record) => {
  const missing = new Set(ALWAYS_SHOWN.filter((name) => record[name]));
  const faults = [];
  for (const element of page.querySelectorAll("[data-field]")) {
    const name = element.dataset.field;
    missing.delete(name);
    const shown = element.localName === "time" ? element.getAttribute("datetime") : ownText(element);
    const expected = FACTS.includes(name) ? record[name] : undefined;
    if (expected === undefined || shown !== trim(expected)) faults.push(fault(name, "the page", shown, expected ?? "no such fact", element));
  }
  for (const name of missing) faults.push(fault(name, "the page", "not shown", record[name]));
  return faults;
};

const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

const checkDays = (record, entries) => {
  const { start_date: first, end_date: last } = record;
  const faults = isDay(first) && isDay(last) && first <= last ? [] : [fault("period", "record", `${first} to ${last}`, "a first and a last day")];
  for (const [name, table] of Object.entries(record.tables)) {
    for (const [measure, columns] of Object.entries(table.days)) {
      for (const [column, spans] of Object.entries(columns)) {
        const isWrong = ([, from, to]) => !isDay(to) || (from && !isDay(from)) || to > last;
        if (spans.some(isWrong)) faults.push(fault("days of a column", `${name}: ${measure} ${column}`, "", `to ${last} at the most`));
      }
    }
  }
  const used = new Set(entries.lines.map((line) => line.day));
  for (const day of entries.dates) if (day && !isDay(day)) faults.push(fault("day of an entry", "entries", day, "a day"));
  for (const day of used) if (day > last) faults.push(fault("day of an entry", "entries", day, `${last} at the latest`));
  const start = [...used].filter(Boolean).sort()[0] ?? last;
  for (const text of new Set(entries.lines.filter((line) => !line.day).map((line) => entries.texts[line.text]))) {
    const day = text.startsWith(OPENING) ? text.slice(OPENING.length) : "";
    if (!isDay(day) || day > start) faults.push(fault("opening balances", "entries", text, `${OPENING}${start}, or of a day before`));
  }
  return faults;
};

const checkJournalEntries = (entries) => {
  const [sums, days, faults] = [new Map(), new Map(), []];
  for (const { entry, units, day } of entries.lines) {
    if (entry < 0) continue;
    sums.set(entry, (sums.get(entry) ?? 0n) + units);
    if (!days.has(entry)) days.set(entry, day);
    if (days.get(entry) !== day) faults.push(fault("journal entry", `entry ${entry}`, `of ${days.get(entry)} and ${day}`, "of one day"));
  }
  for (const [entry, sum] of sums) if (sum) faults.push(fault("journal entry", `entry ${entry} of ${days.get(entry)}`, `sum ${sum}`, "sum 0"));
  return { faults, count: sums.size };
};

const uncheckedAmounts = (scale) => {
  if (!scale) return [];
  const amount = new RegExp(`(?<![0-9.,])[0-9]{1,3}(?:,?[0-9]{3})*\\.[0-9]{${scale}}(?![0-9.%])`, "g");
  const texts = [...page.querySelectorAll("*:not([data-key], [data-field], script, style, svg, svg *, [data-text], [data-text] *)")];
  return texts.flatMap((element) => [...element.childNodes].filter((node) => node.nodeType === TEXT).map((node) => node.data).join("").match(amount) ?? []);
};

const checkPage = async () => {
  const { record, entries } = await readData();
  const elements = [...page.querySelectorAll("[data-key]")];
  const figures = new Recomputation(record, entries);
  const journalEntries = checkJournalEntries(entries);
  const stated = elements.filter((element) => own(own(record.tables, tableOf(element))?.stated, element.dataset.key) !== undefined).length;
  const faults = [
    ...checkFacts(record),
    ...checkFigures(elements, figures),
    ...checkRows(elements, record),
    ...checkDays(record, entries),
    ...journalEntries.faults,
  ];
  const counts = { figures: elements.length - stated, stated, entries: entries.lines.length, journalEntries: journalEntries.count };
  return { faults, counts, unchecked: uncheckedAmounts(record.scale) };
};
