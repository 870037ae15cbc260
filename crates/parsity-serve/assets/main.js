// Listens to the server and hands each state to what is shown: all studies, or one.

import { find, percent, say, short } from "./page.js";
import { Overview } from "./overview.js";
import { StudyPage } from "./study.js";

const path = location.pathname.match(/^\/studies\/([^/]+)$/);
const view = path ? new StudyPage(decodeURIComponent(path[1])) : new Overview();

function show(state) {
  say(find("store"), state.store);
  const { cores, load, memory } = state.machine;
  const parts = [`${cores} ${cores === 1 ? "core" : "cores"}`];
  if (load !== null) parts.push(`load ${short(load)}`);
  if (memory !== null) parts.push(`${percent(Math.round(memory * 100) / 100)} of memory in use`);
  say(find("machine"), `This machine: ${parts.join(", ")}`);
  if (state.trouble) setStatus("lost", `The store cannot be read now: ${state.trouble}`);
  else setStatus(...view.status(state));
  view.show(state);
}

function setStatus(kind, text) {
  find("status").className = `status ${kind}`;
  say(find("status"), text);
}

// The browser itself connects again when a stream breaks, but not after a refusal.
let source;
let wait = 1000;
function listen() {
  source = new EventSource("/api/events");
  source.addEventListener("state", (event) => {
    wait = 1000;
    show(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    setStatus("lost", "The server does not answer; it may have ended. Trying again …");
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(listen, wait);
      wait = Math.min(2 * wait, 30000);
    }
  });
}
listen();
// Nothing is computed for a page that nobody sees.
document.addEventListener("visibilitychange", () => {
  source.close();
  if (!document.hidden) listen();
});

// A key for each part, as its link says.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const link = find("nav").querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
});
