"use strict";
// Shows the instances of this page: a filtered list, drawn a page at a time, and the texts of the one that is open.
(() => {
  const script = document.currentScript;
  const data = (name) => {
    let node = script.previousElementSibling;
    while (!node.classList.contains(name)) node = node.previousElementSibling;
    return node;
  };
  const root = data("instances");
  const parsed = (name) => JSON.parse(data(name).textContent);
  const change = (before, after) => before === null || after === null ? "unknown"
    : after > before ? "helped" : after < before ? "harmed" : "same";
  const passes = (verdict) => verdict === null ? null : Number(verdict === "passed");
  const testsChange = (before, after) => {
    const effect = change(passes(before), passes(after));
    return effect !== "same" ? effect : passes(after) ? "passed" : "failed";
  };
  const models = parsed("instance-models");
  const blanks = parsed("instance-blanks").map(([id, repository, path, line, kind], place) =>
    ({ place, id, repository, path, line, kind, words: `${id} ${repository} ${path}`.toLowerCase() }));
  const rows = parsed("instance-rows").map(
    ([blank, model, without, withContext, probability, asked, testsWithout, testsWith], place) => ({
      place, blank: blanks[blank], model: models[model], without, withContext, probability, testsWithout, testsWith,
      decision: asked === null ? null : asked ? "asked" : "not asked",
      kind: blanks[blank].kind, gain: without === null || withContext === null ? null : withContext - without,
      effect: change(without, withContext), tests: testsChange(testsWithout, testsWith),
    }));
  // Texts are split into lines once and parsed one by one, when their instance is opened.
  const lines = {};
  const detail = (name, place) => JSON.parse((lines[name] ??= data(name).textContent.split("\n"))[place]);
  let chunks = null;

  // -- building elements; text only ever enters through textContent -------------------------------------------------
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "onclick") element.addEventListener("click", value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const picture = (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  };
  // Characters that show as nothing, or change how others show, are made visible; as in page.py.
  const visible = (text) => text.replace(
    /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu, picture);
  const number = (value, digits = 3) => value === null || value === undefined ? "\u2013" : value.toFixed(digits).replace("-", "\u2212");
  const signed = (value) => value === null ? "\u2013" : (value > 0 ? "+" : "") + number(value);
  const pre = (text, kind) => make("pre", { class: kind, tabindex: "0" }, visible(text));

  // -- differences: the longest common subsequence of words, signs and spaces ----------------------------------------
  const pieces = (text) => text.match(/[\p{L}\p{N}_]+|[^\S\n]+|\n|[^\p{L}\p{N}_\s]/gu) ?? [];
  const difference = (target, completion) => {
    const a = pieces(target), b = pieces(completion);
    if (a.length * b.length > 4e6) return [["=", completion]];
    const width = b.length + 1, length = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        length[i * width + j] = a[i] === b[j] ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    const out = [];
    const add = (sign, piece) => {
      if (out.length && out[out.length - 1][0] === sign) out[out.length - 1][1] += piece;
      else out.push([sign, piece]);
    };
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { add("=", a[i]); i++; j++; }
      else if (i < a.length && (j === b.length || length[(i + 1) * width + j] >= length[i * width + j + 1])) add("-", a[i++]);
      else add("+", b[j++]);
    }
    return out;
  };
  const compared = (target, completion) => {
    const block = make("pre", { tabindex: "0" });
    for (const [sign, piece] of difference(target, completion)) {
      const shown = visible(piece);
      block.append(sign === "=" ? shown : make(sign === "+" ? "ins" : "del", {}, sign === "-" ? shown.replace(/\n/g, "\u23ce") : shown));
    }
    if (!completion) block.append(make("em", {}, "  (empty)"));
    return make("div", { class: "frame" }, block);
  };

  // -- the open instance ------------------------------------------------------------------------------------------
  const open = make("div", { class: "open", "aria-live": "polite" });
  const gap = (words) => make("div", { class: "gap" }, words);
  const show = (row) => {
    const { blank } = row;
    const [left, above, right, moreBelow, target, query, note, found] = detail("instance-contexts", blank.place);
    const [without, withContext] = detail("instance-texts", row.place);
    chunks ??= parsed("instance-chunks");
    const about = [row.model, blank.repository, blank.kind, row.probability === null ? null : `P(<cc>) ${number(row.probability)}`,
      row.decision, blank.id].filter((part) => part !== null);
    const frame = make("div", { class: "frame" });
    if (above > 0) frame.append(gap(`${above} more line${above === 1 ? "" : "s"} above`));
    if (left) frame.append(pre(left, "around"));
    frame.append(pre(target, "hole"));
    if (right) frame.append(pre(right, "around"));
    if (moreBelow) frame.append(gap("more lines below"));
    const column = (title, score, tests, text) => make("div", {}, make("h4", {}, title,
      make("span", {}, ` \u00b7 edit similarity ${number(score)}`),
      ...(tests === null ? [] : [make("span", {}, " \u00b7 unit tests "), make("b", { class: tests === "passed" ? "helped" : "harmed" }, tests)])),
    compared(target, text));
    open.replaceChildren(
      make("h3", {}, `${visible(blank.path)}:${blank.line}`), make("p", { class: "about" }, about.map(visible).join(" \u00b7 ")),
      ...(note ? [make("p", { class: "note" }, visible(note))] : []), frame,
      make("div", { class: "pair" }, column("Without context", row.without, row.testsWithout, without),
        column("With context", row.withContext, row.testsWith, withContext)),
      make("p", { class: "caption" }, make("ins", {}, "underlined"), " is not in the target; ", make("del", {}, "struck out"), " is in the target only"),
      make("h4", {}, found.length ? `Retrieved, best first` : "Nothing was retrieved"),
      ...found.map(([key, score], place) => {
        const [path, start, end, text] = chunks[key];
        const title = `${visible(path)}:${start}\u2013${end}` + (score === null ? "" : `  (${number(score)})`);
        return make("details", place === 0 ? { open: "" } : {}, make("summary", {}, title), pre(text));
      }),
      ...(query ? [make("details", {}, make("summary", {}, "The query"), pre(query))] : []));
  };

  // -- the list -----------------------------------------------------------------------------------------------------
  const page = 60;
  const list = make("div", { class: "list", role: "group", "aria-label": "Instances" });
  const state = { model: models[0], effect: "all", decision: "all", tests: "all", kind: "all", order: "given", words: "" };
  let matching = rows;
  let chosen = null;
  const choose = (row, button) => {
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    button?.setAttribute("aria-current", "true");
    chosen = row;
    show(row);
  };
  const entry = (row) => {
    const button = make("button", { class: "row", type: "button", title: `${row.blank.repository} ${row.blank.path}:${row.blank.line}`, onclick: () => choose(row, button) },
      make("span", { class: "where" }, `${visible(row.blank.path)}:${row.blank.line}`),
      make("span", { class: `gain ${row.effect}` }, signed(row.gain)),
      make("span", { class: "what" }, `${visible(row.blank.repository)} \u00b7 ${row.kind}`),
      make("span", { class: "asked" }, row.decision ?? ""));
    if (row === chosen) button.setAttribute("aria-current", "true");
    return button;
  };
  const extend = () => {
    list.querySelector(".more")?.remove();
    const shown = list.querySelectorAll(".row").length;
    list.append(...matching.slice(shown, shown + page).map(entry));
    const left = matching.length - shown - page;
    if (left > 0) list.append(make("button", { class: "more", type: "button", onclick: () => {
      extend();
      list.querySelectorAll(".row")[shown + page]?.focus();
    } }, `Show more (${left})`));
  };
  const buttons = [];
  const refresh = () => {
    if (chosen && chosen.model !== state.model) {
      const same = rows.find((row) => row.model === state.model && row.blank === chosen.blank);
      if (same) choose(same);
    }
    const filtered = ["effect", "decision", "tests", "kind"].filter((key) => state[key] !== "all");
    const mine = rows.filter((row) => row.model === state.model && row.blank.words.includes(state.words));
    const passing = (but) => mine.filter((row) => filtered.every((key) => key === but || row[key] === state[key]));
    matching = passing();
    if (state.order === "change") matching.sort((one, other) => Math.abs(other.gain) - Math.abs(one.gain));
    const others = { effect: passing("effect"), decision: passing("decision") };
    for (const { button, key, value, count } of buttons) {
      button.setAttribute("aria-pressed", String(state[key] === value));
      count.textContent = others[key].filter((row) => value === "all" || row[key] === value).length;
    }
    list.replaceChildren();
    list.scrollTop = 0;
    if (matching.length) extend();
    else list.append(make("p", { class: "empty" }, "No instance matches."));
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const entries = [...list.querySelectorAll("button")];
    entries[entries.indexOf(document.activeElement) + step]?.focus();
    if (document.activeElement.classList.contains("row")) document.activeElement.click();
  });

  // -- the filters --------------------------------------------------------------------------------------------------
  const choice = (key, label, options) => {
    const group = make("div", { class: "group", role: "group", "aria-label": label });
    for (const [value, name] of options) {
      const count = make("small");
      const button = make("button", { type: "button", onclick: () => { state[key] = value; refresh(); } }, name, count);
      buttons.push({ button, key, value, count });
      group.append(button);
    }
    return group;
  };
  const controls = make("div", { class: "controls" },
    choice("effect", "Effect of context", [["all", "All"], ["helped", "Helped"], ["harmed", "Harmed"], ["same", "No difference"]]));
  if (rows.some((row) => row.decision !== null))
    controls.append(choice("decision", "Decision", [["all", "All"], ["asked", "Asked"], ["not asked", "Not asked"]]));
  const select = (key, label, options) => {
    const element = make("select", { "aria-label": label }, ...options.map(([value, name]) => make("option", { value }, visible(name))));
    element.addEventListener("change", () => { state[key] = element.value; refresh(); });
    controls.append(element);
  };
  const kinds = [...new Set(blanks.map((blank) => blank.kind))].sort();
  if (kinds.length > 1) select("kind", "Kind", [["all", "All kinds"], ...kinds.map((kind) => [kind, kind])]);
  if (rows.some((row) => row.testsWithout !== null))
    select("tests", "Unit tests", [["all", "Any verdict"], ["helped", "Pass only with context"], ["harmed", "Pass only without"],
      ["passed", "Pass both ways"], ["failed", "Fail both ways"], ["unknown", "Not judged"]]);
  if (models.length > 1) select("model", "Model", models.map((model) => [model, model]));
  if (rows.some((row) => row.gain !== null))
    select("order", "Order", [["given", "As given"], ["change", "Largest change first"]]);
  const search = make("input", { type: "search", placeholder: "Path or repository", "aria-label": "Path or repository" });
  search.addEventListener("input", () => { state.words = search.value.toLowerCase(); refresh(); });
  controls.append(search);

  root.append(controls, list, open);
  root.hidden = false;
  refresh();
  choose(rows[0], list.querySelector(".row"));
})();
