// The check of a pack by its reader: every figure again from the entries in the page, and the fingerprint of its file.
const page = document.documentElement.cloneNode(true); // before any other script changes it
const elementsOnScreen = [...document.querySelectorAll("[data-key], [data-field]")];

const MAX_DATA_BYTES = 200_000_000;
const MAX_LISTED = 20;
const FACTS = ["company", "currency", "start_date", "end_date", "time_zone", "created_at", "verdict"];
const ALWAYS_SHOWN = ["company", "currency", "start_date", "end_date", "verdict"];
const OPENING = "Balance before ";
const NOT_KNOWN = "not known";
const ZERO = "\u2013";
const TEXT = 3;

const own = (mapping, key) => (mapping && Object.hasOwn(mapping, key) ? mapping[key] : undefined);
const trim = (text) => text.replace(/^[ \t\n]+|[ \t\n]+$/g, "");
const refuse = (problem) => { throw new Error(problem); };
const elementsOfPage = [...page.querySelectorAll("[data-key], [data-field]")];
const fault = (what, where, shown, recomputed, element) => ({
  what, where, shown, recomputed, element: element && elementsOnScreen[elementsOfPage.indexOf(element)],
});

// The data of the page, read exactly.

const readJson = (text) => {
  const read = JSON.parse(text);
  let names = 0;
  for (const found of text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)) if (found[1]) names += 1;
  const count = (value) => {
    if (typeof value !== "object" || value === null) return 0;
    const values = Object.values(value);
    return values.reduce((total, one) => total + (typeof one === "object" ? count(one) : 0), Array.isArray(value) ? 0 : values.length);
  };
  if (count(read) !== names) refuse("a name occurs twice in the data");
  return read;
};

const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const pieces = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MAX_DATA_BYTES) refuse("the data are larger than those of any pack");
    pieces.push(decoder.decode(part.value, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
};

const unitsOf = (units) => {
  if (Number.isSafeInteger(units)) return BigInt(units);
  return typeof units === "string" && /^-?[1-9][0-9]{15,39}$/.test(units) ? BigInt(units) : refuse(`${units} is not an amount in minor units`);
};

const readData = async () => {
  const found = page.querySelectorAll("#pack-data");
  if (found.length !== 1 || found[0].localName !== "script") refuse(`the page has ${found.length} elements of data instead of one`);
  const data = readJson(await unpacked(found[0].textContent));
  if (data.format !== 1 || !["cash flow proven", "cash flow not proven"].includes(data.verdict)) refuse("the data are of another format");
  const { ledgers, dates, texts } = data;
  data.lines = data.lines.map(([ledger, date, text, opposing, units, isFlow, entry]) => {
    const isKnown = [ledgers[ledger], dates[date], texts[text], texts[opposing]].every((one) => typeof one === "string");
    if (!isKnown || ![0, 1].includes(isFlow) || !Number.isSafeInteger(entry)) refuse("a line of the data is not one");
    return { ledger, day: dates[date], isFlow, text, opposing, units: unitsOf(units), entry };
  });
  return data;
};
