"use strict";
// Everything that comes from a board is inserted as text: no markup is ever parsed.

const REFRESH_MS = 1000;
const TIMEOUT_MS = 8000;
const boards = document.getElementById("boards");
const status = document.getElementById("status");
let shown = "";

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function rows(card) {
  const list = element("dl");
  for (const row of card.rows) {
    list.append(element("dt", row.label), element("dd", row.text, row.alarm ? "alarm" : ""));
  }
  return list;
}

function figures(card) {
  const table = element("table");
  table.append(element("caption", `previous: ${card.before}`));
  for (const [label, key] of [["", "name"], ["so far", "now"], ["previous", "before"]]) {
    const line = table.insertRow();
    const head = element("th", label);
    head.scope = "row";
    line.append(head);
    for (const figure of card.figures) {
      line.append(element(key === "name" ? "th" : "td", figure[key]));
    }
  }
  return table;
}

function consoleLines(card) {
  const block = element("pre");
  block.setAttribute("aria-label", `console of ${card.name}`);
  block.tabIndex = 0;
  for (const line of card.lines) {
    block.append(element("span", `${line.text}\n`, line.crash === "no" ? "" : line.crash));
  }
  return block;
}

function article(card) {
  const made = element("article");
  const title = element("h2", `${card.name} `);
  title.append(element("span", card.power, `power ${card.power}`));
  made.append(title, rows(card));
  if (card.figures.length) made.append(figures(card));
  if (card.lines.length) made.append(consoleLines(card));
  return made;
}

function show(state) {
  const made = state.boards.map(article);
  if (!made.length) made.push(element("p", state.error || "no board is in use"));
  if (state.left_out) made.push(element("p", `${state.left_out} more boards are not shown`));
  // A reader who has scrolled up stays there; the others see the last line.
  const kept = [...boards.querySelectorAll("pre")].map((pre) =>
    pre.scrollHeight - pre.scrollTop - pre.clientHeight > 30 ? pre.scrollTop : null);
  boards.replaceChildren(...made);
  boards.querySelectorAll("pre").forEach((pre, number) => {
    pre.scrollTop = kept[number] ?? pre.scrollHeight;
  });
}

async function refresh() {
  try {
    const answer = await fetch("state", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const text = await answer.text();
    // Text that somebody has selected stays selected while nothing changes.
    if (text !== shown) show(JSON.parse(text));
    shown = text;
    status.textContent = `as of ${new Date().toLocaleTimeString()}`;
    status.className = "";
  } catch {
    status.textContent = "whylate does not answer: what is below is old";
    status.className = "stale";
  }
  setTimeout(refresh, REFRESH_MS);
}

refresh();
