// The section of the check: a button, a field for the fingerprint that the reader received, and what was found.
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// Marks figures and facts that fail, so that a reader finds them where they stand.
const markFigures = (faults) => {
  for (const marked of document.querySelectorAll(".pack-check-failed")) {
    marked.classList.remove("pack-check-failed");
    marked.removeAttribute("title");
  }
  for (const [number, { element: marked, recomputed }] of faults.entries()) {
    if (!marked) continue;
    marked.classList.add("pack-check-failed");
    marked.title = `Recomputed: ${recomputed}`;
    marked.id ||= `pack-check-failed-${number}`;
  }
};

const faultLine = ({ what, where, shown, recomputed, element: marked }) => {
  const text = `${what}${where && `, ${where}`}${shown && `: shown ${shown}`}, recomputed ${recomputed}`;
  const line = element("li", {}, text[0].toUpperCase() + text.slice(1));
  if (marked) line.append(" ", element("a", { href: `#${marked.id}` }, "Show it"));
  return line;
};

const faultList = (faults) => {
  const lines = faults.slice(0, MAX_LISTED).map(faultLine);
  if (faults.length > MAX_LISTED) lines.push(element("li", {}, `and ${(faults.length - MAX_LISTED).toLocaleString("en")} more`));
  return element("ul", {}, ...lines);
};

const countSentences = ({ counts, unchecked }, seconds) => {
  const sentences = [
    `${counted(counts.figures, "figure")} recomputed from ${counted(counts.entries, "line entry", "line entries")}, and ` +
      `${counted(counts.journalEntries, "journal entry", "journal entries")} added up, in ${seconds < 0.1 ? "less than 0.1" : seconds.toFixed(1)} s.`,
  ];
  if (counts.stated) sentences.push(`${counted(counts.stated, "amount")} of the service's report compared with the record in this page alone.`);
  if (unchecked.length) sentences.push(`${counted(unchecked.length, "amount")} in the text cannot be checked: ${unchecked.slice(0, 5).join(", ")}.`);
  return sentences.join(" ");
};

const fingerprintSentence = (given, { fingerprint }) =>
  given
    ? "It proves that nothing of this page was altered since the fingerprint that you pasted was stated. An alteration is found unless both the page and the fingerprint you compare with are replaced."
    : `The fingerprint of this page is ${fingerprint}. Compare it with the one that you received, or paste that one above: an alteration is found unless both the page and the fingerprint you compare with are replaced.`;

const results = (given, checked, seconds) => {
  const { faults } = checked;
  const headline = faults.length
    ? `${counted(faults.length, "check")} failed: this is not the page as it was written.`
    : given ? "No check failed, and the fingerprint is the one that you pasted." : "No check failed.";
  return [
    element("p", {}, element("strong", {}, headline)),
    ...(faults.length ? [faultList(faults)] : []),
    element("p", {}, countSentences(checked, seconds)),
    ...(faults.length ? [] : [element("p", {}, fingerprintSentence(given, checked))]),
  ];
};

const runCheck = async (field, result) => {
  result.className = "pack-check-result";
  result.replaceChildren(element("p", {}, "Checking \u2026"));
  const start = performance.now();
  let faults = [];
  let found;
  try {
    const given = field.value.trim() ? readFingerprint(field.value) : "";
    const checked = await checkPage(given);
    faults = checked.faults;
    markFigures(faults);
    found = results(given, checked, (performance.now() - start) / 1000);
  } catch (error) {
    faults = [error];
    found = [element("p", {}, element("strong", {}, `The page cannot be checked: ${error.message}.`))];
  }
  result.replaceChildren(...found);
  result.classList.add(faults.length ? "failed" : "passed");
};

const showControls = () => {
  const place = document.querySelector("#pack-check .pack-check-controls");
  if (!place) return;
  const field = element("input", { type: "text", autocomplete: "off", spellcheck: false });
  const button = element("button", { type: "button" }, "Check this page");
  const result = element("div", { className: "pack-check-result" });
  result.setAttribute("role", "status");
  place.append(element("label", {}, "Fingerprint that you received (may be left empty)", element("br"), field), button, result);
  button.addEventListener("click", () => runCheck(field, result));
  field.addEventListener("keydown", (event) => event.key === "Enter" && runCheck(field, result));
};

showControls();
