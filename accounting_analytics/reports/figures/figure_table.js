(() => {
  const MAX_SHOWN = 200;
  const MAX_SHOWN_IN_PAGE = 5000; // of a page that has all entries, and nothing else to ask
  const LONG_NAMES = 40;
  const SIGNS = { "+": "+", "-": "\u2212", "/": "\u00f7" };

  const element = (name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
  };

  const UNITS = { thousands: [3, 1], millions: [6, 2] }; // the zeros that are left out, and the fraction digits

  // The text of exact units, as the figures of the table have it; in thousands or millions rounded half to even.
  const amountText = (units, scale, amountsIn = "") => {
    if (units === 0n) return "\u2013";
    let [size, fraction] = [units < 0n ? -units : units, scale];
    if (Object.hasOwn(UNITS, amountsIn)) {
      const [zeros, shown] = UNITS[amountsIn];
      const last = 10n ** BigInt(scale + zeros - shown);
      const twice = 2n * (size % last);
      size = size / last + (twice > last || (twice === last && (size / last) % 2n === 1n) ? 1n : 0n);
      fraction = shown;
    }
    const digits = String(size).padStart(fraction + 1, "0");
    const end = digits.length - fraction;
    const whole = digits.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
    const text = fraction ? `${whole}.${digits.slice(end)}` : whole;
    return units < 0n ? `(${text})` : text;
  };

  const amountStyle = (text) => "amount" + (text.endsWith(")") ? " negative" : "");

  const own = (mapping, key) => (mapping && Object.hasOwn(mapping, key) ? mapping[key] : undefined);

  const splitKey = (key) => [key.slice(0, key.lastIndexOf("|")), key.slice(key.lastIndexOf("|") + 1)];

  const entryOf = (data, [ledger, date, text, opposing, units], factor) => {
    const amount = BigInt(factor) * BigInt(units);
    return { day: data.dates[date], text: data.texts[text], ledger: data.ledgers[ledger], opposing: data.texts[opposing], amount };
  };

  // The entries of a figure that sums lines, with the sign they are summed with, by day; undefined where the page does
  // not have them.
  const entriesOf = (data, key) => {
    const [row, column] = splitKey(key);
    const ranges = own(data.figures, row)?.[data.columns.indexOf(column)];
    if (!ranges) return undefined;
    const found = [];
    for (let at = 0; at < ranges.length; at += 3) {
      const [sign, first, last] = ranges.slice(at, at + 3);
      found.push(...data.lines.slice(first, last + 1).map((line) => entryOf(data, line, sign)));
    }
    return found.sort((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0));
  };

  // The terms of a figure that is made of others: sign, label and text of each; undefined where it has none.
  const termsOf = (data, key) => {
    const [row, column] = splitKey(key);
    const terms = own(own(data.terms, row), data.columns?.indexOf(column));
    return terms?.map(([sign, label, text]) => [sign, data.labels[label], text]);
  };

  const filledRow = (cells) => {
    const row = element("tr");
    row.append(...cells);
    return row;
  };

  // Names of many ledgers take two lines, and are all in the title.
  const cellOf = ([text, style]) => {
    const cell = element("td", style, style === "ledger" ? "" : text);
    if (style === "ledger") {
      cell.append(element("div", "", text));
      if (text.length > LONG_NAMES) cell.title = text;
    }
    return cell;
  };

  const tableOf = (title, style, heads, rows, foot) => {
    const table = element("table", `accounting-analytics ${style}`);
    const [head, body, end] = ["thead", "tbody", "tfoot"].map((name) => element(name));
    table.append(element("caption", "", title));
    if (heads.length) {
      head.append(filledRow(heads.map(([text, style]) => Object.assign(element("th", style, text), { scope: "col" }))));
      table.append(head);
    }
    body.append(...rows.map((cells) => filledRow(cells.map(cellOf))));
    const [label, span, text] = foot;
    const total = element("td", amountStyle(text), text);
    end.append(filledRow([Object.assign(element("th", "date", label), { scope: "row", colSpan: span }), total]));
    table.append(body, end);
    return table;
  };

  const termsTable = (title, terms, text) => {
    const rows = terms.map(([sign, label, term]) => [
      [SIGNS[sign] ?? sign, "date"], [label, "text"], [term, amountStyle(term)],
    ]);
    return tableOf(title, "terms", [], rows, ["=", 2, text]);
  };

  const entriesTable = (title, entries, scale, most) => {
    const hasLedgers = new Set(entries.map((entry) => entry.ledger)).size > 1;
    const heads = [["Date", "date"], ["Description", "text"], ["Ledger", "ledger"], ["Opposing ledgers", "ledger"], ["Amount", "amount"]];
    const rows = entries.slice(0, most).map(({ day, text, ledger, opposing, amount }) => {
      const shown = amountText(amount, scale);
      return [[day, "date"], [text, "text"], [ledger, "ledger"], [opposing, "ledger"], [shown, amountStyle(shown)]];
    });
    if (!hasLedgers) [heads, ...rows].forEach((cells) => cells.splice(2, 1));
    const count = entries.length.toLocaleString("en") + (entries.length === 1 ? " entry" : " entries");
    const label = entries.length > most ? `${count}, the first ${most} shown` : count;
    const sum = entries.reduce((total, entry) => total + entry.amount, 0n);
    return tableOf(title, "lines", heads, rows, [label, heads.length - 1, amountText(sum, scale)]);
  };

  const headsOf = (cell) => {
    const label = cell.parentElement.cells[0].textContent;
    return `${label}, ${cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent}`;
  };

  // What a press on a figure unfolds: its terms, its entries, or the call that gives them.
  const detailsOf = (data, figure) => {
    const { key } = figure.dataset;
    const [row, column] = splitKey(key);
    const title = headsOf(figure.closest("td"));
    const details = element("div");
    const terms = termsOf(data, key);
    const entries = terms ? undefined : entriesOf(data, key);
    if (terms) details.append(termsTable(title, terms, figure.querySelector("button").textContent));
    if (entries) details.append(entriesTable(title, entries, data.scale, MAX_SHOWN));
    if (data.call && !terms && (!entries || entries.length > MAX_SHOWN)) {
      const call = data.call.replace("{row!r}", () => JSON.stringify(row)).replace("{column!r}", () => JSON.stringify(column));
      const line = element("p", "note", "All entries: ");
      line.append(element("code", "", call));
      details.append(line);
    }
    return details;
  };

  // The same of a page that has its figures once, for all of its tables.
  const sharedDetailsOf = (figures, table, key) => {
    const text = (part) => {
      const quotient = figures.quotient(table, part);
      if (quotient) {
        const [size, end] = quotient.units < 0n ? [-quotient.units, ")"] : [quotient.units, ""];
        return `${end && "("}${amountText(size, quotient.digits)}${quotient.suffix}${end}`;
      }
      const units = figures.units(table, part);
      return units === null ? "not known" : amountText(units, figures.scale, figures.amountsIn);
    };
    const details = element("div");
    const terms = figures.terms(table, key)?.map(([sign, part]) => [sign, figures.label(table, part), text(part)]);
    const title = figures.label(table, key);
    details.append(terms ? termsTable(title, terms, text(key)) : entriesTable(title, figures.entries(table, key), figures.scale, MAX_SHOWN_IN_PAGE));
    return details;
  };

  const close = (row) => {
    for (const button of row.querySelectorAll("button")) button.setAttribute("aria-expanded", "false");
    if (row.nextElementSibling?.matches(".entries")) row.nextElementSibling.remove();
  };

  // Below the row of a figure, or below the sentence that it is in.
  const unfold = (row, details) => {
    const unfolded = element(row.cells ? "tr" : "div", "entries");
    const place = row.cells ? unfolded.insertCell() : unfolded;
    if (row.cells) place.colSpan = row.cells.length;
    place.append(element("div"));
    place.firstChild.append(details);
    row.after(unfolded);
  };

  const toggle = async (data, button) => {
    const figure = button.parentElement;
    const row = figure.closest("tr, p, li");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    close(row);
    if (isOpen) return;
    button.setAttribute("aria-expanded", "true");
    if (data) return unfold(row, detailsOf(data, figure));
    try {
      const figures = await window.accountingAnalyticsPack();
      const details = sharedDetailsOf(figures, figure.closest("[data-table]").dataset.table, figure.dataset.key);
      if (button.getAttribute("aria-expanded") === "true") unfold(row, details);
    } catch {
      unfold(row, element("p", "note", "This browser cannot read the entries that this page carries."));
    }
  };

  // Labels cover the figures that are scrolled below them, and rules have one colour: those of the page.
  const takeColours = (root) => {
    let place = root;
    const transparent = /^(transparent|rgba\(.*, 0\))$/;
    while (place && transparent.test(getComputedStyle(place).backgroundColor)) place = place.parentElement;
    root.style.setProperty("--page-ground", place ? getComputedStyle(place).backgroundColor : "Canvas");
    root.style.setProperty("--page-ink", getComputedStyle(root).color);
  };

  // Scrolling ends where a column begins, so that no label covers the first digits of a figure.
  const watchLabels = (root) => {
    const label = root.querySelector("thead td");
    const note = () => root.style.setProperty("--label-column", `${label.offsetWidth}px`);
    new ResizeObserver(note).observe(label);
  };

  const watchPage = () => {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      document.querySelectorAll(".accounting-analytics-figures.ready").forEach(takeColours);
    });
    const press = (event) => {
      const isPress = ["Enter", " "].includes(event.key) && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
      if (isPress && event.target.matches(".accounting-analytics-figures button")) event.stopPropagation();
    };
    addEventListener("keydown", press, true); // before JupyterLab, where Enter begins to edit the cell
  };

  // Below a chart of Plotly a press on a mark unfolds its figure: the chart is the last one before the table.
  const watchChart = (details, left = 80) => {
    const isBefore = (one) => one.compareDocumentPosition(details) & Node.DOCUMENT_POSITION_FOLLOWING;
    const chart = [...document.querySelectorAll(".js-plotly-plot")].filter(isBefore).pop();
    if (!chart?.on) {
      if (left) setTimeout(watchChart, 250, details, left - 1);
      return;
    }
    chart.on("plotly_click", ({ points }) => {
      const [key] = points[0].customdata;
      const figures = [...details.querySelectorAll("[data-key]")];
      const button = figures.find(({ dataset }) => [key, `${key}|`].includes(dataset.key))?.querySelector("button");
      if (!button) return;
      details.open = true;
      if (button.getAttribute("aria-expanded") !== "true") button.click();
      button.scrollIntoView({ block: "center" });
    });
  };

  const prepare = (root) => {
    const json = root.querySelector("script[type='application/json']");
    const data = json && JSON.parse(json.textContent);
    root.classList.add("ready");
    root.querySelectorAll("tr.entries").forEach((row) => row.remove());
    if (root.querySelector("table")) watchLabels(root);
    const details = root.closest(".accounting-analytics-marks");
    if (details) watchChart(details);
    takeColours(root);
    const isShared = root.matches("[data-table]");
    if (!data && !isShared) return;
    for (const figure of root.querySelectorAll("[data-key]")) {
      if (isShared && figure.matches(".zero, .unknown")) continue;
      if (!figure.querySelector("button")) {
        const button = Object.assign(element("button"), { type: "button" });
        button.append(figure.lastChild);
        figure.append(button);
      }
      figure.querySelector("button").setAttribute("aria-expanded", "false");
    }
    if (!isShared && !root.querySelector(".hint")) {
      root.querySelector("caption div").append(element("div", "subtitle hint", "Press a figure to see what it is made of."));
    }
    root.addEventListener("click", (event) => {
      const button = event.target.closest("[data-key] > button");
      if (button) toggle(data, button);
    });
  };

  if (!window.watchesAccountingAnalyticsFigures) {
    window.watchesAccountingAnalyticsFigures = true;
    watchPage();
  }
  for (const root of document.querySelectorAll(".accounting-analytics-figures")) {
    if (!root.preparedFigures) {
      root.preparedFigures = true;
      prepare(root);
    }
  }
})();
