// Figures as text.

const valueText = (units, scale, form) => {
  if (units === null) return NOT_KNOWN;
  const text = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  const end = text.length - scale;
  const whole = text.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${units < 0n && form !== "magnitude" ? "-" : ""}${whole}${scale ? `.${text.slice(end)}` : ""}`;
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
const tableOf = (element) => element.closest("[data-table]")?.dataset.table ?? "";

// The checks: each returns what is not as it has to be.

const checkFigures = (elements, figures) => {
  const faults = elements.length ? [] : [fault("figures", "the page", "none", "figures")];
  for (const element of elements) {
    const { key, form = "" } = element.dataset;
    const [table, shown] = [tableOf(element), ownText(element)];
    let [label, expected] = [`${table}: ${key}`];
    try {
      label = figures.label(table, key);
      if (!["", "magnitude"].includes(form)) refuse(`shown as ${form}`);
      const percent = figures.percent(table, key);
      expected = percent === undefined ? valueText(figures.units(table, key), figures.scale, form) : `${valueText(percent, 1, form)}%`;
      if (agrees(readShown(shown), expected)) continue;
    } catch (error) {
      expected = `not possible: ${error.message}`;
    }
    faults.push(fault("figure", label, shown, expected, element));
  }
  return faults;
};

const checkShown = (elements, data) => {
  const keys = new Map(Object.keys(data.tables).map((name) => [name, new Set()]));
  for (const element of elements) keys.get(tableOf(element))?.add(element.dataset.key);
  return Object.entries(data.tables).flatMap(([name, { figures, hidden }]) => {
    const found = keys.get(name);
    const missing = Object.keys(figures).filter((key) => !found.has(key) && !hidden.includes(key));
    const surplus = hidden.filter((key) => found.has(key));
    return [
      ...missing.map((key) => fault("figure of the page", `${name}: ${key}`, "not on the page", "shown")),
      ...surplus.map((key) => fault("figure of the page", `${name}: ${key}`, "shown", "hidden")),
    ];
  });
};

const checkFacts = (data) => {
  const missing = new Set(ALWAYS_SHOWN.filter((name) => data[name]));
  const faults = [];
  for (const element of page.querySelectorAll("[data-field]")) {
    const name = element.dataset.field;
    missing.delete(name);
    const shown = element.localName === "time" ? element.getAttribute("datetime") : ownText(element);
    const expected = FACTS.includes(name) ? data[name] : undefined;
    if (expected === undefined || shown !== trim(expected)) faults.push(fault(name, "the page", shown, expected ?? "no such fact", element));
  }
  for (const name of missing) faults.push(fault(name, "the page", "not shown", data[name]));
  return faults;
};

const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

const checkDays = (data) => {
  const { start_date: first, end_date: last } = data;
  const faults = isDay(first) && isDay(last) && first <= last ? [] : [fault("period", "the page", `${first} to ${last}`, "a first and a last day")];
  for (const [name, table] of Object.entries(data.tables)) {
    for (const [key, [kind, , parts]] of Object.entries(table.figures)) {
      const isWrong = ([, , from, to]) => !isDay(to) || (from && !isDay(from)) || to > last;
      if (kind === "sum" && parts.some(isWrong)) faults.push(fault("days of a figure", `${name}: ${key}`, "", `to ${last} at the most`));
    }
  }
  const used = new Set(data.lines.map((line) => line.day));
  for (const day of data.dates) if (day && !isDay(day)) faults.push(fault("day of an entry", "entries", day, "a day"));
  for (const day of used) if (day > last) faults.push(fault("day of an entry", "entries", day, `${last} at the latest`));
  const start = [...used].filter(Boolean).sort()[0] ?? last;
  for (const text of new Set(data.lines.filter((line) => !line.day).map((line) => data.texts[line.text]))) {
    const day = text.startsWith(OPENING) ? text.slice(OPENING.length) : "";
    if (!isDay(day) || day > start) faults.push(fault("opening balances", "entries", text, `${OPENING}${start}, or of a day before`));
  }
  return faults;
};

const checkJournalEntries = (data) => {
  const [sums, days, faults] = [new Map(), new Map(), []];
  for (const { entry, units, day } of data.lines) {
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
  const data = await readData();
  const elements = [...page.querySelectorAll("[data-key]")];
  const figures = new Figures(data);
  const journalEntries = checkJournalEntries(data);
  const stated = elements.filter((element) => own(own(data.tables, tableOf(element))?.figures, element.dataset.key)?.[0] === "stated").length;
  const faults = [
    ...checkFacts(data),
    ...checkFigures(elements, figures),
    ...checkShown(elements, data),
    ...checkDays(data),
    ...journalEntries.faults,
  ];
  const counts = { figures: elements.length - stated, stated, entries: data.lines.length, journalEntries: journalEntries.count };
  return { faults, counts, unchecked: uncheckedAmounts(data.scale) };
};
