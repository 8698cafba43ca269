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
  if (counts.stated) sentences.push(`${counted(counts.stated, "amount")} expected, or of the service's report, compared with the data in this page alone.`);
  if (unchecked.length) sentences.push(`${counted(unchecked.length, "amount")} in the text cannot be checked: ${unchecked.slice(0, 5).join(", ")}.`);
  return sentences.join(" ");
};

// SHA-256 of a file, as sha256sum prints it.
const fingerprintOf = async (file) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

const checkFingerprint = async (given, file) => {
  if (given && !/^[0-9a-f]{64}$/.test(given)) refuse("what you pasted is not a fingerprint: copy all 64 digits");
  if (given && !file) refuse("the fingerprint is of the file: choose the file of this page too");
  const fingerprint = file && (await fingerprintOf(file));
  const faults = given && given !== fingerprint ? [fault("fingerprint", "", given, fingerprint)] : [];
  return { fingerprint, faults };
};

const fingerprintSentence = (given, fingerprint) => {
  if (given) return "The file is the one whose fingerprint you pasted.";
  const calculated = fingerprint ? `The fingerprint of the file is ${fingerprint}. ` : "";
  return `${calculated}Compare the fingerprint with the one that you received: without it, an alteration that figures do not contradict is not found.`;
};

const results = (given, fingerprint, checked, seconds) => {
  const { faults } = checked;
  const headline = faults.length
    ? `${counted(faults.length, "check")} failed: this is not the page as it was written.`
    : given ? "No check failed, and the fingerprint is the one that you pasted." : "No check failed.";
  return [
    element("p", {}, element("strong", {}, headline)),
    ...(faults.length ? [faultList(faults)] : []),
    element("p", {}, countSentences(checked, seconds)),
    ...(faults.length ? [] : [element("p", {}, fingerprintSentence(given, fingerprint))]),
  ];
};

const runCheck = async (field, chosen, result) => {
  result.className = "pack-check-result";
  result.replaceChildren(element("p", {}, "Checking \u2026"));
  const start = performance.now();
  let faults = [];
  let found;
  try {
    const given = field.value.replace(/\s/g, "").toLowerCase();
    const compared = await checkFingerprint(given, chosen.files[0]);
    const checked = await checkPage();
    faults = checked.faults;
    faults.unshift(...compared.faults);
    markFigures(faults);
    found = results(given, compared.fingerprint, checked, (performance.now() - start) / 1000);
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
  const chosen = element("input", { type: "file", accept: ".html" });
  const button = element("button", { type: "button" }, "Check this page");
  const result = element("div", { className: "pack-check-result" });
  result.setAttribute("role", "status");
  const labels = [
    element("label", {}, "Fingerprint that you received (may be left empty)", element("br"), field),
    element("label", {}, "File of this page, for its fingerprint: choose it, or drop it here", element("br"), chosen),
  ];
  place.append(...labels, button, result);
  button.addEventListener("click", () => runCheck(field, chosen, result));
  field.addEventListener("keydown", (event) => event.key === "Enter" && runCheck(field, chosen, result));
};

showControls();
