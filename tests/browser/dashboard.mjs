// The dashboard in a real browser, over a study that really runs:
//   node dashboard.mjs PARSITY FOLDER
// starts PARSITY (the program), watches it in Chromium, and keeps screenshots in FOLDER.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const [parsity, pictures] = process.argv.slice(2).map((path) => resolve(path));
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** How long anything may take, in milliseconds; a busy machine is slow. */
const PATIENCE = 60_000;

// At batch size 64 the first goal check comes late, so that there is a finding to follow. With so
// many trials a cell takes some seconds on a fast machine, too, and can be seen while it runs.
const STUDY = `
name = "watched"
dataset = "glyphs-small"
model = "mini-cnn"
optimizer = "momentum"
goal_error = 0.2
step_budget = 1000
check_every = [{ from_batch_size = 1, steps = 4 }, { from_batch_size = 64, steps = 160 }]
batch_sizes = [4, 8, 16, 32, 64]
sparsities = [0.0, 0.8]
trials = 60
validation_share = 0.05

[pruning]
method = "magnitude"

[search]
learning_rate = { from = 0.003, to = 0.3 }
momentum = { from = 0.5, to = 0.95 }
`;

const desk = mkdtempSync(join(tmpdir(), "parsity-browser-"));
writeFileSync(join(desk, "study.toml"), STUDY);
mkdirSync(pictures, { recursive: true });
const children = [];

/** Starts the program in the desk; `until` is what it must say first. */
function start(line, until) {
  const child = spawn(parsity, line.split(" "), { cwd: desk, env: { ...process.env, PARSITY_DATA: join(desk, "data") } });
  children.push(child);
  child.ended = new Promise((done) => child.on("exit", done));
  child.said = new Promise((done, fail) => {
    let text = "";
    const hear = (piece) => {
      text += piece;
      const found = text.match(until);
      if (found) done(found[0]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => fail(new Error(`${line} ended with ${code}: ${text}`)));
  });
  child.said.catch(() => {});
  return child;
}

const begin = Date.now();
const log = (text) => console.log(`${((Date.now() - begin) / 1000).toFixed(1).padStart(6)} s  ${text}`);

async function main() {
  let run = start("run study.toml --threads 1", /loading/);
  await run.said;
  let server;
  for (let tries = 0; ; tries++) {
    server = start("serve --port 0", /http:\S+/);
    const url = await server.said.catch(() => null);
    if (url) break;
    assert.ok(tries < 100, "the store did not come");
    await new Promise((done) => setTimeout(done, 100));
  }
  const url = await server.said;
  log(`serving at ${url}`);
  // On a fast machine much would be over before anybody looks. But the study must be in the store.
  const known = async () => (await (await fetch(`${url}api/studies`)).json()).studies.length > 0;
  while (!(await known())) await new Promise((done) => setTimeout(done, 50));
  run.kill("SIGSTOP");

  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  const strangers = [];
  page.on("request", (request) => request.url().startsWith(url) || strangers.push(request.url()));
  const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  const fits = async (name) => {
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `${name} is ${content} px wide on a screen of ${window}`);
  };

  await page.goto(url);
  await page.getByRole("link", { name: "watched" }).waitFor();
  await picture("studies");
  await fits("the overview");
  await page.getByRole("link", { name: "watched" }).click();
  await page.locator(".heat button").first().waitFor();
  run.kill("SIGCONT");
  await page.locator(".status.running").waitFor();

  // A cell finishes and the curve grows, without a reload.
  const marks = () => page.locator("#curves .chart").getAttribute("data-marks").then(Number);
  const results = () => page.locator(".heat button.result").count();
  await page.locator(".heat button.result").first().waitFor();
  await page.evaluate(() => { window.sameDocument = true; });
  const [results1, marks1] = [await results(), await marks()];
  await page.waitForFunction((before) => document.querySelectorAll(".heat button.result").length > before, results1);
  await page.waitForFunction((before) => Number(document.querySelector("#curves .chart").dataset.marks) > before, marks1);
  assert.ok(await page.evaluate(() => window.sameDocument), "the page was reloaded");
  log(`cells: ${results1} → ${await results()}, marks: ${marks1} → ${await marks()}`);

  // A trial that runs right now. The run is held, so that this and what follows is looked at in peace.
  const isLive = () => Number(document.querySelector("#cell .chart").dataset.running) > 0;
  const running = page.locator(".heat button.running").first();
  for (let tries = 0; ; tries++) {
    await running.waitFor();
    run.kill("SIGSTOP");
    const seen = running.click({ timeout: 3000 }).then(() => page.waitForFunction(isLive, null, { timeout: 3000 }));
    if (await seen.then(() => true, () => false)) break;
    // It has ended in this very moment; then it is the next one's turn.
    assert.ok(tries < 20, "no trial was shown while it ran");
    run.kill("SIGCONT");
  }
  log("the curves of a running trial are shown");
  await picture("running");
  await fits("the running study");

  // The search of a cell, with the winner.
  await page.locator(".heat button.result").first().click();
  await page.locator("#cell .sheet svg title", { hasText: "best:" }).first().waitFor({ state: "attached" });
  assert.match(page.url(), /cell=\d+%2C0/);
  log("the search scatter is shown");

  // Hover and toggles of the curves.
  const chart = page.locator("#curves .chart");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#curves .tip").textContent(), /batch size \d+.*steps/);
  const toggle = page.locator("#curves .toggle").first();
  const shown = await marks();
  await toggle.click();
  assert.ok((await marks()) < shown, "a sparsity can be left out");
  await toggle.click();

  // The map by keyboard.
  await page.locator(".heat button").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  const focused = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(focused, /Batch size 8, sparsity 80 %/);

  // The run stops, and the page says so; it starts again, and the page goes on.
  run.kill("SIGINT");
  run.kill("SIGCONT");
  await run.ended;
  await page.locator(".status.stopped").waitFor();
  log("the page shows that the run has stopped");
  await picture("stopped");
  run = start("run study.toml --threads 2", /before and are kept/);
  await run.said;
  await page.locator(".status.running").waitFor();
  log("the page shows that it runs again");
  await page.locator(".status.done").waitFor();
  await page.waitForFunction(() => !document.querySelector(".heat button.open"));
  log("the study is done");

  // A finding is followed to the search of its cell.
  await page.getByRole("link", { name: "Look at its search" }).last().click();
  await page.locator("#cell h3", { hasText: "B = 64" }).waitFor();
  await page.locator("#cell .sheet svg").waitFor();
  log("a finding leads to its cell");
  assert.ok(await page.evaluate(() => window.sameDocument), "the page was reloaded");

  // All that the report has is there.
  for (const anchor of ["answer", "claims", "figures", "steps", "findings", "method"]) {
    await page.locator(`section#${anchor}`).scrollIntoViewIfNeeded();
  }
  for (const figure of ["scaling", "ratio", "metaparameters", "search", "work"]) {
    await page.locator(`#figure-${figure}`).scrollIntoViewIfNeeded();
    await page.locator(`#figure-${figure} svg`).first().waitFor();
  }
  await picture("done");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.evaluate(() => scrollTo(0, 0));
  await picture("done-dark");
  await page.emulateMedia({ colorScheme: "light" });

  // On a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(page.url());
  await page.locator(".heat button.result").first().waitFor();
  await page.locator("#cell .sheet svg").waitFor();
  await page.waitForFunction(() => Number(document.querySelector("#curves .chart").dataset.marks) > 0);
  await picture("phone");
  await fits("the study on a phone");
  await page.goto(url);
  await page.getByRole("link", { name: "watched" }).waitFor();
  await picture("phone-studies");
  await fits("the overview on a phone");

  assert.deepEqual(complaints, [], "the console is silent");
  assert.deepEqual(strangers, [], "nothing is asked of another server");
  await browser.close();
  server.kill("SIGINT");
  assert.equal(await server.ended, 0, "the server ends in good order");
  log("done");
}

main()
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(() => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(desk, { recursive: true, force: true });
    process.exit();
  });
