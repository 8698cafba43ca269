// Elements of the grid. Texts of the books are only ever the text of an element.

const MONTH = "2025-12".length;

const element = (name, className = "", properties = {}, text = "") => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  return made;
};

const attributes = (target, values) => {
  for (const [name, value] of Object.entries(values)) target.setAttribute(name, value);
};

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const twoLines = (className, first, second, title = "") => {
  const cell = element("div", className, { role: "gridcell" });
  cell.append(first, element("span", "second", {}, second));
  if (title) cell.title = title;
  return cell;
};

const line = (text, className = "first") => element("span", className, {}, text);

// What is staged for some rows, or else proposed, and why.
const categoryCell = (store, group, rows) => {
  const found = store.summary(rows);
  const name = (number) => store.categories[number][0];
  const names = (numbers) => [...numbers.keys()].map(name).sort().join(", ");
  const first = element("span", "first staged");
  let second = found.why >= 0 ? store.text("why", found.why) : "";
  const parts = [];
  if (found.chosen.size) {
    first.append(element("s", "", {}, store.text("old", rows[0])), element("span", "arrow", {}, "\u2192"));
    first.append(element("strong", "", {}, names(found.chosen)));
    if (found.byHand) second = "chosen by hand";
    if (found.open) parts.push(`${found.open.toLocaleString("en")} to decide`);
    if (found.skipped) parts.push(`${found.skipped.toLocaleString("en")} skipped`);
  } else if (found.skipped && !found.open) {
    first.append(element("span", "muted", {}, "Skipped"));
  } else if (found.proposed.size) {
    const count = [...found.proposed.values()].reduce((sum, one) => sum + one, 0);
    first.append(element("em", "", {}, `${names(found.proposed)}?`));
    if (count < found.open) parts.push(`proposed for ${count.toLocaleString("en")} of ${found.open.toLocaleString("en")}`);
  } else {
    first.append(element("span", "muted", {}, store.text("old", rows[0])));
    if (store.isSplit(group)) second = `split: ${store.text("split", rows[0])}`;
  }
  const below = [...parts, second].filter(Boolean).join(" \u00b7 ");
  const title = [[...first.children].map((one) => one.textContent).join(" "), below].filter(Boolean).join("\n");
  return { cell: twoLines("cell category", first, below, title), found };
};

const actionButton = (action, sign, label) => {
  const button = element("button", "act", { type: "button", tabIndex: -1, title: label }, sign);
  button.dataset.action = action;
  attributes(button, { "aria-label": label });
  return button;
};

const actionsCell = (found, label) => {
  const cell = element("div", "cell acts", { role: "gridcell" });
  if (found.proposed.size) cell.append(actionButton("accept", "\u2713", `Accept what is proposed for ${label}`));
  if (found.open) cell.append(actionButton("skip", "\u2715", `Skip ${label}`));
  if (found.chosen.size || found.skipped) cell.append(actionButton("clear", "\u21ba", `Decide ${label} again`));
  return cell;
};

const groupTexts = (shown, group, rows) => {
  const { store } = shown;
  const count = store.end(group) - store.start(group);
  let [first, last] = [store.text("day", rows[0]), store.text("day", rows[0])];
  for (const row of rows) {
    const day = store.text("day", row);
    if (day < first) first = day;
    if (day > last) last = day;
  }
  const kind = { merchant: "", transfer: "likely transfer \u00b7 ", split: "split \u00b7 " }[store.groups.kind[group]];
  const other = store.text("other", rows[0]);
  const account = `${store.text("account", rows[0])}${other ? ` \u2194 ${other}` : ""}`;
  return {
    label: store.merchant(group),
    below: `${kind}${account}`,
    count: rows.length < count ? `${rows.length} of ${count}` : plural(count, "transaction"),
    days: first === last ? first : `${first.slice(0, MONTH)} \u2013 ${last.slice(0, MONTH)}`,
    units: rows.length < count ? rows.reduce((sum, row) => sum + store.units[row], 0n) : store.groupUnits[group],
  };
};

const rowTexts = (store, row) => ({
  label: store.text("description", row) || "(no description)",
  below: store.text("account", row),
  count: store.text("day", row),
  days: "",
  units: store.units[row],
});

// One row of the grid: a group, or a transaction below it.
const rowElement = (shown, entry, index, prefix) => {
  const { store } = shown;
  const [group, rows] = [shown.groupOf(entry), shown.rowsOf(entry)];
  const texts = entry < 0 ? groupTexts(shown, group, rows) : rowTexts(store, entry);
  const made = element("div", entry < 0 ? "row group" : "row transaction", { role: "row", id: `${prefix}-${index}` });
  const tick = shown.tickOf(rows);
  attributes(made, { "aria-rowindex": index + 2, "aria-selected": String(tick === 2) });
  made.dataset.index = index;
  const box = element("div", `cell tick tick${tick}`, { role: "gridcell" });
  box.append(element("span", "box"), element("span", "hidden", {}, ["not ticked", "partly ticked", "ticked"][tick]));
  const merchant = twoLines("cell merchant", line(texts.label), texts.below, texts.label);
  if (entry < 0) {
    const isOpen = shown.unfolded.has(group);
    const fold = element("button", "fold", { type: "button", tabIndex: -1 }, isOpen ? "\u25be" : "\u25b8");
    attributes(fold, { "aria-expanded": String(isOpen), "aria-label": `Transactions of ${texts.label}` });
    merchant.prepend(fold);
  }
  const { cell, found } = categoryCell(store, group, rows);
  const amount = twoLines("cell amount", line(store.amount(texts.units)), "");
  made.append(
    box, merchant, twoLines("cell count", line(texts.count), texts.days), amount, cell,
    actionsCell(found, texts.label));
  return made;
};

const nothingFound = () => {
  const made = element("div", "row none", { role: "row" });
  made.append(element("div", "cell", { role: "gridcell" }, "Nothing is found."));
  return made;
};
