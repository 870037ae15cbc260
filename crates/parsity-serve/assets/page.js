// What all parts of the page share: making elements, numbers as people read them, fetching.

/** An element with attributes and children; functions are listeners, text is never markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (id) => document.getElementById(id);

/** Sets text only where it changed, so that nothing is announced twice. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** 16384 → 16,384 */
export const grouped = (number) => Math.round(number).toLocaleString("en-US");

/** Seconds in their two largest units: 2 min 5 s. */
export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  const [name, size] = units[first];
  const whole = Math.floor(seconds / size);
  if (first + 1 === units.length) return `${whole} ${name}`;
  const [next, small] = units[first + 1];
  return `${grouped(whole)} ${name} ${Math.floor((seconds - whole * size) / small)} ${next}`;
}

/** A number to three digits. */
export const short = (number) => {
  const rounded = Number(number.toPrecision(3));
  return Math.abs(rounded) >= 1e6 ? rounded.toExponential().replace("+", "") : String(rounded);
};

/** 0.9 → 90 % */
export const percent = (share) => `${Number((share * 100).toFixed(4))} %`;

/** Text in which what stands between backquotes is code. */
export const withCode = (text) =>
  text.split("`").map((piece, index) => (index % 2 ? make("code", {}, piece) : piece));

export class Gone extends Error {}

async function get(url) {
  const response = await fetch(url);
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  const error = told.error ?? `the server answered ${response.status}`;
  throw response.status === 404 ? new Gone(error) : new Error(error);
}

export const fetchJson = async (url) => (await get(url)).json();
export const fetchText = async (url) => (await get(url)).text();

/** The address of something about studies. */
export const api = (names, rest) => `/api/studies/${encodeURIComponent(names)}/${rest}`;

/** An SVG that the server drew, as an element of this page. */
export async function fetchFigure(url) {
  const parsed = new DOMParser().parseFromString(await fetchText(url), "image/svg+xml");
  return document.importNode(parsed.documentElement, true);
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let darkColours = {};
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

/** Learns what stands for the figures' colours on a dark screen. */
export function learnColours(colours) {
  darkColours = colours;
  const rules = Object.entries(colours).map(
    ([colour, other]) => `svg [fill="${colour}"]{fill:${other}} svg [stroke="${colour}"]{stroke:${other}}`,
  );
  sheet.replaceSync(`@media screen and (prefers-color-scheme: dark){${rules.join("")}}`);
}

/** A colour of the figures as it is on this screen. */
export const onScreen = (colour) => (dark.matches ? (darkColours[colour] ?? colour) : colour);

export const onThemeChange = (listener) => dark.addEventListener("change", listener);

/** A colour of the style sheet. */
export const styleColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
