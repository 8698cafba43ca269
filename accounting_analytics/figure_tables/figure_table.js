(() => {
  const MAX_SHOWN = 200;
  const LONG_NAMES = 40;
  const SIGNS = { "+": "+", "-": "\u2212", "/": "\u00f7" };

  const element = (name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
  };

  // The text of exact units, as the figures of the table have it.
  const amountText = (units, scale) => {
    if (units === 0n) return "\u2013";
    const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
    const end = digits.length - scale;
    const whole = digits.slice(0, end).replace(/\B(?=(\d{3})+$)/g, ",");
    const text = scale ? `${whole}.${digits.slice(end)}` : whole;
    return units < 0n ? `(${text})` : text;
  };

  const amountStyle = (text) => "amount" + (text.endsWith(")") ? " negative" : "");

  const own = (mapping, key) => (mapping && Object.hasOwn(mapping, key) ? mapping[key] : undefined);

  // The entries of an additive figure with the sign they are summed with; undefined where the page does not have them.
  const entriesOf = (data, row, column) => {
    const [rowFactor, measure, ledgers] = own(data.rows, row) ?? [];
    const spans = own(own(data.days, measure), column);
    if (!spans) return undefined;
    const numbers = new Set(ledgers);
    const found = [];
    for (const [ledger, date, isFlow, text, opposing, units] of data.lines) {
      if (!numbers.has(ledger) || (measure === "flow" && !isFlow)) continue;
      const day = data.dates[date];
      let factor = 0;
      for (const [spanFactor, first, last] of spans) if (first <= day && day <= last) factor += rowFactor * spanFactor;
      if (factor) {
        const amount = BigInt(factor) * BigInt(units);
        found.push({ day, text: data.texts[text], ledger: data.ledgers[ledger], opposing: data.texts[opposing], amount });
      }
    }
    return found;
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

  const entriesTable = (title, entries, scale) => {
    const hasLedgers = new Set(entries.map((entry) => entry.ledger)).size > 1;
    const heads = [["Date", "date"], ["Description", "text"], ["Ledger", "ledger"], ["Opposing ledgers", "ledger"], ["Amount", "amount"]];
    const rows = entries.slice(0, MAX_SHOWN).map(({ day, text, ledger, opposing, amount }) => {
      const shown = amountText(amount, scale);
      return [[day, "date"], [text, "text"], [ledger, "ledger"], [opposing, "ledger"], [shown, amountStyle(shown)]];
    });
    if (!hasLedgers) [heads, ...rows].forEach((cells) => cells.splice(2, 1));
    const count = entries.length.toLocaleString("en") + (entries.length === 1 ? " entry" : " entries");
    const label = entries.length > MAX_SHOWN ? `${count}, the first ${MAX_SHOWN} shown` : count;
    const sum = entries.reduce((total, entry) => total + entry.amount, 0n);
    return tableOf(title, "lines", heads, rows, [label, heads.length - 1, amountText(sum, scale)]);
  };

  // What a press on a figure unfolds: its terms, its entries, or the call that gives them.
  const detailsOf = (data, cell) => {
    const { key } = cell.dataset;
    const text = cell.querySelector("button").textContent;
    const end = key.lastIndexOf("|");
    const [row, column] = [key.slice(0, end), key.slice(end + 1)];
    const label = cell.parentElement.cells[0].textContent;
    const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent;
    const title = `${label}, ${head}`;
    const details = element("div");
    const terms = own(data.terms, key);
    const entries = terms ? undefined : entriesOf(data, row, column);
    if (terms) details.append(termsTable(title, terms, text));
    if (entries) details.append(entriesTable(title, entries, data.scale));
    if (!terms && (!entries || entries.length > MAX_SHOWN)) {
      const call = data.call.replace("{row!r}", () => JSON.stringify(row)).replace("{column!r}", () => JSON.stringify(column));
      const line = element("p", "note", "All entries: ");
      line.append(element("code", "", call));
      details.append(line);
    }
    return details;
  };

  const close = (row) => {
    for (const button of row.querySelectorAll("button")) button.setAttribute("aria-expanded", "false");
    if (row.nextElementSibling?.matches(".entries")) row.nextElementSibling.remove();
  };

  const toggle = (data, button) => {
    const cell = button.parentElement;
    const row = cell.parentElement;
    const isOpen = button.getAttribute("aria-expanded") === "true";
    close(row);
    if (isOpen) return;
    button.setAttribute("aria-expanded", "true");
    const unfolded = element("tr", "entries");
    const place = unfolded.insertCell();
    place.colSpan = row.cells.length;
    place.append(element("div"));
    place.firstChild.append(detailsOf(data, cell));
    row.after(unfolded);
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

  const prepare = (root) => {
    const json = root.querySelector("script[type='application/json']");
    const data = json && JSON.parse(json.textContent);
    root.classList.add("ready");
    root.querySelectorAll("tr.entries").forEach((row) => row.remove());
    watchLabels(root);
    takeColours(root);
    if (!data) return;
    for (const cell of root.querySelectorAll("td[data-key]")) {
      if (!cell.querySelector("button")) {
        const button = Object.assign(element("button"), { type: "button" });
        button.append(cell.lastChild);
        cell.append(button);
      }
      cell.querySelector("button").setAttribute("aria-expanded", "false");
    }
    if (!root.querySelector(".hint")) {
      root.querySelector("caption div").append(element("div", "subtitle hint", "Press a figure to see what it is made of."));
    }
    root.addEventListener("click", (event) => {
      const button = event.target.closest("td[data-key] > button");
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
